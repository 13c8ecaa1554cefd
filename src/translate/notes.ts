/**
 * What a translation lost or had to guess. The caller turns each note into one log record.
 *
 * `rule` is a short kebab-case name that stays the same for the same kind of loss; `detail` is one line for a person.
 * Details describe shapes (types, ids, paths), never contents.
 */
export interface Note {
  rule: string;
  detail: string;
}

/** The notes of one translation: the caller hands in an array, the translation appends. */
export type Notes = Note[];

/**
 * A value for one of v2's open enumerations (docs/mapping.md §6, §7, §9, §10). Bare names are reserved for the
 * protocol there, so a value that is neither `known` nor already an extension gets the `_` prefix.
 */
export function underscored(value: string, known: readonly string[]): string {
  return value.startsWith("_") || known.includes(value) ? value : `_${value}`;
}

/** A field of an open enumeration: a string is {@link underscored}, anything else is returned as it is. */
export function openEnum(value: unknown, known: readonly string[]): unknown {
  return typeof value === "string" ? underscored(value, known) : value;
}

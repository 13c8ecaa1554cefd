/** Cuts a byte stream only between characters. */
export interface CharacterKeeper {
  /** Takes the next bytes; returns those that can be passed on, at times none. */
  push(chunk: Buffer): Buffer;
  /** Takes the end of the stream; returns what was held back. */
  end(): Buffer;
}

const NOTHING = Buffer.alloc(0);

/**
 * Holds back the first bytes of a UTF-8 character, at most three, until the rest has come: so that what is put between
 * two chunks tears no character apart. Bytes that are no UTF-8 pass as they are.
 */
export function createCharacterKeeper(): CharacterKeeper {
  let held = NOTHING;
  return {
    push(chunk) {
      const bytes = held.length > 0 ? Buffer.concat([held, chunk]) : chunk;
      const whole = bytes.length - unfinishedBytes(bytes);
      held = Buffer.from(bytes.subarray(whole));
      return bytes.subarray(0, whole);
    },
    end() {
      const rest = held;
      held = NOTHING;
      return rest;
    },
  };
}

/** How many bytes at the end are the start of a character that is not complete. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= 3; back++) {
    const byte = bytes[bytes.length - back];
    if (byte === undefined) return 0;
    if ((byte & 0xc0) === 0x80) continue;
    return characterLength(byte) > back ? back : 0;
  }
  return 0;
}

function characterLength(first: number): number {
  if (first >= 0xf0 && first < 0xf8) return 4;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xc0 && first < 0xe0) return 2;
  return 1;
}

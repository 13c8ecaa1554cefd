import type { BytesRecord } from "./format.ts";

/** The bytes of a record. */
export function bytesOf({ text, base64 }: BytesRecord): Buffer {
  return base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64");
}

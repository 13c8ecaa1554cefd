/**
 * JSON without loss: an integer in JSON may have any number of digits, while a JavaScript number holds them all only up to
 * 2^53. Ids and what nobody here reads (the input of a tool, `_meta`) have to arrive as they were sent.
 */

/** An integer that a number cannot hold is this text and its digits, from where it is read to where it is written. */
const MARK = "\u0000integer ";
const WRITTEN_MARK = JSON.stringify(MARK).slice(0, -1);
const MARKED = /"\\u0000integer (-?\d+)"/g;

/** Fewer digits are always held. */
const MANY_DIGITS = 16;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/**
 * As `JSON.parse`, but an integer that a number cannot hold becomes a string that {@link printExact} writes as what it was.
 *
 * @throws SyntaxError when the text is no JSON
 */
export function parseExact(text: string): unknown {
  return JSON.parse(hasManyDigits(text) ? markIntegers(text) : text);
}

/** As {@link parseExact}; undefined when the text is no JSON. */
export function readExact(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

/** As `JSON.stringify`, with the integers that {@link parseExact} has read. */
export function printExact(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(WRITTEN_MARK) ? text.replace(MARKED, "$1") : text;
}

/** Of so many digits in a row one stands at a sixteenth place: to look there costs a fraction of what an expression does. */
function hasManyDigits(text: string): boolean {
  for (let place = MANY_DIGITS - 1; place < text.length; place += MANY_DIGITS) {
    if (!isDigit(text, place)) continue;
    let first = place;
    let last = place;
    while (isDigit(text, first - 1)) first--;
    while (isDigit(text, last + 1)) last++;
    if (last - first >= MANY_DIGITS - 1) return true;
  }
  return false;
}

function isDigit(text: string, place: number): boolean {
  const code = text.charCodeAt(place);
  return code >= 0x30 && code <= 0x39;
}

function markIntegers(text: string): string {
  const parts: string[] = [];
  let start = 0;
  for (let quote = text.indexOf('"'); quote !== -1; quote = text.indexOf('"', start)) {
    const end = endOfString(text, quote);
    parts.push(text.slice(start, quote).replace(NUMBER, marked), text.slice(quote, end));
    start = end;
  }
  parts.push(text.slice(start).replace(NUMBER, marked));
  return parts.join("");
}

function marked(number: string): string {
  return /^-?[1-9]\d{15,}$/.test(number) && String(Number(number)) !== number ? `${WRITTEN_MARK}${number}"` : number;
}

/** The position after the closing quote of the string that opens at `start`; the end of the text when there is none. */
export function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let firstBackslash = quote;
    while (text.charCodeAt(firstBackslash - 1) === BACKSLASH) firstBackslash--;
    if ((quote - firstBackslash) % 2 === 0) return quote + 1;
  }
  return text.length;
}

const BACKSLASH = 0x5c;

const space = /[ \t\r\n]*/y;
const scalar =
  /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/**
 * Where a text stops being JSON: the offset of the first token that cannot stand there, or of the end when something is
 * missing; undefined when the text is JSON. (`JSON.parse` does not say where on every version of Node.)
 */
export function jsonFault(text: string): number | undefined {
  let offset = 0;

  const accept = (pattern: RegExp | string): boolean => {
    if (typeof pattern === "string") {
      if (!text.startsWith(pattern, offset)) return false;
      offset += pattern.length;
      return true;
    }
    pattern.lastIndex = offset;
    const match = pattern.exec(text);
    if (match) offset = pattern.lastIndex;
    return match !== null;
  };
  const token = (pattern: RegExp | string): boolean => {
    accept(space);
    return accept(pattern);
  };
  const list = (close: string, item: () => boolean): boolean => {
    if (token(close)) return true;
    do if (!item()) return false;
    while (token(","));
    return token(close);
  };
  const member = (): boolean => {
    accept(space);
    return text[offset] === '"' && accept(scalar) && token(":") && value();
  };
  const value = (): boolean => {
    if (token("{")) return list("}", member);
    if (token("[")) return list("]", value);
    return accept(scalar);
  };

  const whole = value();
  accept(space);
  return whole && offset === text.length ? undefined : offset;
}

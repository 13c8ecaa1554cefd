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

/**
 * A value of one of v2's open enumerations for v1, where the enumeration is closed (docs/mapping.md §13): itself where
 * v1 defines it, else what v1 has nearest to it, else `otherwise`. Anything but a string is `otherwise` too.
 */
export function nearest(
  value: unknown,
  known: readonly string[],
  near: Readonly<Record<string, string>>,
  otherwise: string,
): string {
  if (typeof value !== "string") return otherwise;
  if (known.includes(value)) return value;
  return Object.hasOwn(near, value) ? (near[value] ?? otherwise) : otherwise;
}

const marks: Record<string, string> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

/** Writes JSON as Go's encoding/json does: compact, keys as they come, and what HTML or JavaScript could misread escaped. */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (mark) => marks[mark] ?? mark);
}

/**
 * Reads a field as Go's encoding/json finds it: the case of letters in the key does not matter, and the last one counts.
 * Undefined also for null, which Go leaves at its zero value.
 */
export function goField(object: Record<string, unknown>, name: string): unknown {
  const wanted = name.toLowerCase();
  return Object.entries(object).findLast(([key]) => key.toLowerCase() === wanted)?.[1] ?? undefined;
}

/** A JSON object, or undefined for anything else. */
export function asObject(value: unknown): Record<string, unknown> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value as Record<string, unknown> : undefined;
}

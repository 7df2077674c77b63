const marks: Record<string, string> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

/** Returns JSON as Go's encoding/json writes it: compact, keys in their order, `<>&`, U+2028 and U+2029 escaped. */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (mark) => marks[mark] ?? mark);
}

/**
 * Returns a field as Go's encoding/json finds it: keys are matched without regard to case, and the last match wins.
 * Returns undefined also for null, because Go leaves such a field at its zero value.
 */
export function goField(object: Record<string, unknown>, name: string): unknown {
  const wanted = name.toLowerCase();
  return Object.entries(object).findLast(([key]) => key.toLowerCase() === wanted)?.[1] ?? undefined;
}

/** Returns the value if it is a JSON object, else undefined. */
export function asObject(value: unknown): Record<string, unknown> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value as Record<string, unknown> : undefined;
}

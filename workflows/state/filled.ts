/** Reads plain JSON of an unknown version by the shape of a whole value. */

/**
 * The fields of `fresh`, each from `given` where that has a value of the same kind. An empty object stands for a record,
 * whose entries are taken as they are; a null for anything.
 */
export function filled<Value>(fresh: Value, given: unknown): Value {
  if (given === undefined || (given === null && fresh !== null)) return fresh;
  if (fresh === null) return given as Value;
  if (Array.isArray(fresh)) return Array.isArray(given) ? given as Value : fresh;
  if (!isRecord(fresh)) return typeof given === typeof fresh ? given as Value : fresh;
  if (!isRecord(given)) return fresh;
  const known = Object.entries(fresh);
  if (known.length === 0) return given as Value;
  return Object.fromEntries(known.map(([field, value]) => [field, filled(value, given[field])])) as Value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

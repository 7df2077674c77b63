/** Copies values without some fields. A path joins names with dots, and applies to each item of a list. */

/** Returns a copy of the value without the fields at the paths. */
export function without<T>(value: T, paths: readonly string[]): T {
  if (Array.isArray(value)) return value.map((each) => without(each, paths)) as T;
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !paths.includes(name));
  return Object.fromEntries(kept.map(([name, each]) => [name, without(each, below(paths, name))])) as T;
}

function below(paths: readonly string[], name: string): string[] {
  return paths.flatMap((path) => path.startsWith(`${name}.`) ? path.slice(name.length + 1) : []);
}

/** Gives data in which reading what is not there throws and names it, such as `it.cluster.port`. */
export function strictData(value: unknown, path: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, key): unknown {
      const inner: unknown = Reflect.get(target, key);
      if (typeof key === "symbol") return inner;
      if (key in target) return typeof inner === "function" ? inner : strictData(inner, pathOf(path, key));
      // JSON.stringify looks for the first, Eta's blocks for the second.
      if (key === "toJSON" || key === "__blocks") return undefined;
      throw new Error(`${pathOf(path, key)} is missing`);
    },
  });
}

function pathOf(path: string, key: string): string {
  if (/^\d+$/.test(key)) return `${path}[${key}]`;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

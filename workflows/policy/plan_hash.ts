/** A short name for a plan, so that a stale one can be told. */

/** 16 hex digits that change with the value, whatever the order of its keys; it tells apart and protects nothing. */
export function planHash(value: unknown): string {
  const text = canonical(value);
  return `${lane(text, 0x811c9dc5)}${lane(text, 0x9747b28c)}`;
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  // What is undefined is lost on the way to another process, where the hash has to be the same.
  const given = Object.entries(value).filter(([, each]) => each !== undefined);
  const entries = given.sort(([a], [b]) => a < b ? -1 : 1);
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")}}`;
}

/** 32 bits: each character is mixed in and spread, and all bits at the end (the finish of MurmurHash3). */
function lane(text: string, seed: number): string {
  let bits = seed;
  for (let at = 0; at < text.length; at++) {
    bits = Math.imul(bits ^ text.charCodeAt(at), 0x5bd1e995);
    bits ^= bits >>> 15;
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0).toString(16).padStart(8, "0");
}

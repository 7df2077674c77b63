import { Buffer } from "node:buffer";

/**
 * The maximum size in bytes of a profile as JSON, both alone and with its parents merged in, because the API server
 * stores no larger object.
 */
export const largestProfile = 1.5 * 1024 * 1024;

/**
 * Returns whether a value has more than `most` bytes as JSON. Stops counting at `most`, so the value may even contain
 * itself.
 */
export function isLargerThan(value: unknown, most: number): boolean {
  let left = most;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const one = open.pop();
    left -= typeof one === "string" ? Buffer.byteLength(one) + 2 : 2;
    if (typeof one === "object" && one !== null) {
      const isList = Array.isArray(one);
      for (const [key, inner] of Object.entries(one)) {
        left -= isList ? 1 : Buffer.byteLength(key) + 4;
        if (left < 0) return true;
        open.push(inner);
      }
    }
    if (left < 0) return true;
  }
  return false;
}

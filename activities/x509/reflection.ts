// @peculiar/x509 configures itself with a library that reads decorator metadata from the runtime; none is ever needed,
// so this stub suffices.
const metadata = new WeakMap<object, Map<unknown, unknown>>();
const read = (key: unknown, target: object): unknown => metadata.get(target)?.get(key);

if (!("getMetadata" in Reflect)) {
  Object.assign(Reflect, {
    getMetadata: read,
    getOwnMetadata: read,
    defineMetadata(key: unknown, value: unknown, target: object): void {
      const entries = metadata.get(target) ?? new Map<unknown, unknown>();
      metadata.set(target, entries.set(key, value));
    },
  });
}

// @peculiar/x509 uses a library that throws unless the runtime has functions for decorator metadata. This stub is
// enough, because no metadata is ever needed.
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

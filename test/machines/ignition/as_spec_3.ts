/** What our Ignition 2.3.0 says, in 3.3.0: written apart from the generators, from the specifications alone. */
import { z } from "zod";

const nothing = z.strictObject({});

const UnitOf2 = z.strictObject({
  name: z.string(),
  enabled: z.boolean(),
  mask: z.literal(true).optional(),
  contents: z.string().optional(),
  dropins: z.array(z.strictObject({ name: z.string(), contents: z.string().optional() })).optional(),
});

const FileOf2 = z.strictObject({
  filesystem: z.literal("root"),
  path: z.string(),
  contents: z.strictObject({ source: z.string().startsWith("data:,"), verification: nothing }),
  // Special bits get lost on the way: 3.3.0 has none.
  mode: z.int().min(0).max(0o777),
});

/** All that we publish; a field that is new there is to be thought about here first. */
const Spec2 = z.strictObject({
  ignition: z.strictObject({
    config: nothing,
    security: z.strictObject({ tls: nothing }),
    timeouts: nothing,
    version: z.literal("2.3.0"),
  }),
  networkd: nothing,
  passwd: z.strictObject({
    users: z.array(z.strictObject({ name: z.string(), sshAuthorizedKeys: z.array(z.string()) })).optional(),
  }),
  storage: z.strictObject({ files: z.array(FileOf2).optional() }),
  systemd: z.strictObject({ units: z.array(UnitOf2).optional() }),
});

/** An Ignition config of version 3.3.0, as far as ours go. */
export interface Spec3 {
  ignition: { version: "3.3.0" };
  passwd?: { users: { name: string; sshAuthorizedKeys: string[] }[] };
  storage?: { files: { path: string; overwrite: true; contents: { source: string }; mode: number }[] };
  systemd?: { units: z.infer<typeof UnitOf2>[] };
}

/** Converts user-data of ours; throws ZodError for a field that is not known here. */
export function asSpec3(userData: string): Spec3 {
  const { passwd: { users = [] }, storage: { files = [] }, systemd: { units = [] } } = Spec2.parse(
    JSON.parse(userData),
  );
  // In 2.x a file overwrites what has its path, also one of the same config; 3.x wants it said, and takes no path twice.
  const byPath = new Map(files.map(({ path, contents: { source }, mode }) => {
    return [path, { path, overwrite: true as const, contents: { source }, mode }];
  }));
  return {
    ignition: { version: "3.3.0" },
    ...(users.length > 0 ? { passwd: { users } } : {}),
    ...(byPath.size > 0 ? { storage: { files: [...byPath.values()] } } : {}),
    ...(units.length > 0 ? { systemd: { units } } : {}),
  };
}

/**
 * Converts Ostler's Ignition 2.3.0 to 3.3.0: written independently of the generators, from the specifications alone.
 */
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
  // Refuses modes with special bits (setuid, setgid, sticky), because 3.3.0 does not support them.
  mode: z.int().min(0).max(0o777),
});

/** All fields that Ostler publishes; a new field must be considered here first. */
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

/** An Ignition config of version 3.3.0, with the fields that Ostler uses. */
export interface Spec3 {
  ignition: { version: "3.3.0" };
  passwd?: { users: { name: string; sshAuthorizedKeys: string[] }[] };
  storage?: { files: { path: string; overwrite: true; contents: { source: string }; mode: number }[] };
  systemd?: { units: z.infer<typeof UnitOf2>[] };
}

/** Converts Ostler's user-data; throws ZodError for an unknown field. */
export function asSpec3(userData: string): Spec3 {
  const { passwd: { users = [] }, storage: { files = [] }, systemd: { units = [] } } = Spec2.parse(
    JSON.parse(userData),
  );
  // In 2.x a file overwrites an existing one with its path, even of the same config; 3.x requires `overwrite`, and
  // refuses a repeated path.
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

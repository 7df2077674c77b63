/** The publications from which a pool's machines boot, read from the API server. */
import { loadYaml } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { namesOf } from "../../profiles/mod.ts";
import { secretPath } from "../integration/pool_objects.ts";
import type { World } from "../integration/world.ts";

/** A file of a machine's user-data, with its secrets; `permissions` in octal digits. */
export interface OrderedFile {
  path: string;
  permissions: string;
  content: string;
}

/** A file as everybody sees it in the config: `<hidden>` replaces secrets. */
export interface ShownFile {
  path: string;
  permissions?: number;
  content: { inline: { data: string } };
}

interface CloudConfig {
  write_files: { path: string; permissions: string; encoding?: string; content: string }[];
}

interface ShownPhase {
  files: ShownFile[];
}

export const phases = ["bootstrap", "provisioning"] as const;
export type Phase = typeof phases[number];

/** Names of a pool's objects. */
export function namesIn(pool: string): ReturnType<typeof namesOf> {
  return namesOf({ namespace: "kube-system", name: pool });
}

/** Returns the value of one key of a Secret that machines boot from, as text. */
export async function secretText(world: World, name: string, key: string): Promise<string> {
  const secret = await world.get<{ data?: Record<string, string> }>(secretPath(name));
  const data = secret?.data?.[key];
  assert.ok(data, `Secret "${name}" has no key "${key}"`);
  return Buffer.from(data, "base64").toString();
}

/** The files that the user-data of a phase makes cloud-init write. */
export async function orderedFiles(world: World, pool: string, phase: Phase): Promise<OrderedFile[]> {
  const config = loadYaml<CloudConfig>(await secretText(world, namesIn(pool)[phase], "cloud-config"));
  return config.write_files.map(({ path, permissions, encoding, content }) => ({
    ...{ path, permissions },
    content: encoding === undefined ? content : Buffer.from(content, encoding === "b64" ? "base64" : "utf8").toString(),
  }));
}

/** The files of a phase in the OperatingSystemConfig. */
export async function shownFiles(world: World, pool: string, phase: Phase): Promise<ShownFile[]> {
  const group = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs";
  const config = await world.get<{ spec: Record<`${Phase}Config`, ShownPhase> }>(`${group}/${namesIn(pool).config}`);
  assert.ok(config, `Pool "${pool}" has no config`);
  return config.spec[`${phase}Config`].files;
}

/** Returns the token with which the pool's machines fetch their provisioning config. */
export async function machineToken(world: World, pool: string): Promise<string> {
  const files = await orderedFiles(world, pool, "bootstrap");
  const token = files.find(({ path }) => path === "/etc/ostler/token")?.content.trim();
  assert.match(token ?? "", /^eyJ/, `The user-data of pool "${pool}" has no token`);
  return token ?? "";
}

import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical_json.ts";
import type { CloudInitModules, OsFile, OsProfile, OsUnit } from "./schema.ts";

/** What one phase writes on a machine; all of it is text as it will stand there. */
export interface OsConfigPhase {
  files: OsFile[];
  units?: OsUnit[];
  userSSHKeys: string[];
  modules?: CloudInitModules;
}

/** The `.spec` of an OperatingSystemConfig; credentials have no place in it, so `cloudProvider.spec` stays empty. */
export interface OsConfig {
  osName: OsProfile["osName"];
  osVersion: string;
  cloudProvider: { name: string; spec: Record<string, never> };
  bootstrapConfig: OsConfigPhase;
  provisioningConfig: OsConfigPhase;
  provisioningUtility: OsProfile["provisioningUtility"];
}

/** SHA-256 in lower-case hex of everything the config says, whatever the order of its keys. */
export function configDigest(config: OsConfig): string {
  return createHash("sha256").update(canonicalJson(config)).digest("hex");
}

/** Size of a text in bytes of UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

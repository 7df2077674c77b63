/** Objects of `update.edgeless.systems` as users of the Constellation node operator have them. */
import { readFileSync } from "node:fs";
import { parseManifests } from "../../deploy/local/stack/manifests.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";

/** An object with its spec, and with the status that the operator had written, if any. */
export type UpdateSample = ManifestObject & { spec: Record<string, unknown>; status?: Record<string, unknown> };

const file = new URL("./update_samples.yaml", import.meta.url);

export function updateSamples(): UpdateSample[] {
  return parseManifests(readFileSync(file, "utf8"), "update_samples.yaml") as UpdateSample[];
}

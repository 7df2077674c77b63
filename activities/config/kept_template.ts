/**
 * Keeps the template of a pool's last good revision, beside its kept profiles. machine-controller (1.66) deletes old
 * MachineSets beyond `revisionHistoryLimit` in the order of their creation, once all machines of a new template are
 * Ready. So it can delete the set of the last good revision, and keep that of a newer failed one, before the rollout
 * has converged.
 */
import { Buffer } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";
import { z } from "zod";
import { canonicalJson } from "../../profiles/canonical_json.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { factsOf, isAtRisk, ownSets, type Templates, unlabelled } from "../kube/machine_sets.ts";
import type { MachineDeployment } from "../kube/resources.ts";
import { attempting } from "../kube/status.ts";
import { claim } from "./identity.ts";
import { keptProfileName, readKeptSecret, templatePrefix, writeKeptSecret } from "./kept_profile.ts";

/** Maximum size (bytes) of a kept template, compressed and in base64: there is room for it beside two profiles. */
const largest = 60_000;

/**
 * Keeps the template of the last good revision, and deletes all other templates of the pool. Does nothing if no
 * MachineSet has it, if it is too large, or if machine-controller does not delete its MachineSet.
 */
export function keepTemplate(kube: Kube, deployment: MachineDeployment, templates: Templates): Promise<void> {
  const { namespace, name } = deployment.metadata;
  const pool = { namespace, name };
  return attempting(`keep the last good template of MachineDeployment "${namespace}/${name}"`, async () => {
    const sets = await ownSets(kube, deployment);
    if (!isAtRisk(deployment, sets.map(factsOf), templates)) return;
    const template = sets.find((set) => factsOf(set).templateHash === templates.good)?.spec?.template;
    if (!template) return;
    const packed = gzipSync(canonicalJson(unlabelled(template))).toString("base64");
    if (packed.length > largest) return;
    const existing = await readKeptSecret(kube, pool);
    if (existing) claim(pool, `secret "${keptProfileName(pool)}"`, existing.metadata?.annotations);
    const key = `${templatePrefix}${templates.good}`;
    if (existing?.data?.[key] === packed) return;
    const profiles = Object.entries(existing?.data ?? {}).filter(([each]) => !each.startsWith(templatePrefix));
    await writeKeptSecret(kube, pool, { existing, data: { ...Object.fromEntries(profiles), [key]: packed } });
  });
}

/** Reads a kept template; undefined if it was not kept. */
export async function readKeptTemplate(kube: Kube, pool: PoolRef, templateHash: string): Promise<object | undefined> {
  const packed = (await readKeptSecret(kube, pool))?.data?.[`${templatePrefix}${templateHash}`];
  if (packed === undefined) return undefined;
  return z.looseObject({}).parse(JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString()));
}

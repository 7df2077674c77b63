import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Phase, RolloutReport } from "../../../workflows/contracts/mod.ts";

interface Schema {
  type?: string;
  enum?: string[];
  maxItems?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
}

interface Version {
  schema: { openAPIV3Schema: { properties: { status: Schema } } };
  additionalPrinterColumns: { name: string; jsonPath: string; priority?: number }[];
}

const file = new URL("../../../deploy/kubernetes/crds/rollouts.yaml", import.meta.url);
const [version] = (parse(readFileSync(file, "utf8")) as { spec: { versions: [Version] } }).spec.versions;
const { status } = version.schema.openAPIV3Schema.properties;

/** Each phase once; the compiler reports a missing one. */
const phases: Record<Phase, true> = {
  ...{ Preparing: true, Creating: true, Rolling: true, RollingBack: true, Repairing: true, Converged: true },
  ...{ RolledBack: true, Halted: true, Aborted: true, Deleting: true },
};

/**
 * Each reported field once; the compiler reports a missing one. The report's `trusted` becomes the last entry of
 * `caBundles`.
 */
const fields: Record<Exclude<keyof RolloutReport, "trusted"> | "caBundles", true> = {
  ...{ phase: true, reason: true, message: true, observed: true, observedGeneration: true, replicas: true },
  ...{ updatedReplicas: true, readyReplicas: true, failedMachines: true, updated: true, revision: true, image: true },
  ...{ targetTemplateHash: true, convergedTemplateHash: true, kubelet: true, configDigest: true, profile: true },
  ...{ policy: true, wave: true, waves: true, blockedReason: true, paused: true, pausedBy: true, quarantine: true },
  ...{ lastGood: true, usual: true, left: true, eta: true, plan: true, credentials: true, underway: true },
  ...{ conditions: true, history: true, etcd: true, skipped: true, approval: true, caBundles: true },
};

Deno.test("rollouts.yaml: has every reported phase and field, because the API server drops all others", () => {
  deepEqual([...status.properties?.["phase"]?.enum ?? []].sort(), Object.keys(phases).sort());
  const known = Object.keys(status.properties ?? {});
  deepEqual(Object.keys(fields).filter((field) => !known.includes(field)), []);
});

Deno.test("rollouts.yaml: limits the length of every list in the status", () => {
  const lists: string[] = [];
  const visit = (path: string, { type, maxItems, properties = {}, items }: Schema): void => {
    if (type === "array") lists.push(path);
    const most = path === "status.skipped" ? 500 : 50;
    if (type === "array") ok(maxItems !== undefined && maxItems <= most, `${path} holds ${maxItems}`);
    if (items) visit(`${path}[]`, items);
    for (const [name, inner] of Object.entries(properties)) visit(`${path}.${name}`, inner);
  };
  visit("status", status);
  ok(lists.includes("status.underway[].blockers"), lists.join());
});

Deno.test("rollouts.yaml: shows the documented printer columns in order, and only of existing fields", () => {
  const named = (wide: boolean): string[] =>
    version.additionalPrinterColumns.filter(({ priority = 0 }) => (priority > 0) === wide).map(({ name }) => name);
  deepEqual(named(false), ["Ready", "Phase", "Updated", "Failed", "Blocked", "Wave", "Age"]);
  deepEqual(named(true), ["ETA", "Paused", "Revision", "Image", "Workflow"]);
  for (const { jsonPath } of version.additionalPrinterColumns.filter(({ name }) => name !== "Age")) {
    const [, field = ""] = /^\.status\.(\w+)/.exec(jsonPath) ?? [];
    equal(field in (status.properties ?? {}), true, jsonPath);
  }
});

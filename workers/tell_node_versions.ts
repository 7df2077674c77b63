/** Has each NodeVersion looked after by a run of its own, told of each change of it and of its groups, and from time to time. */
import type { Client } from "@temporalio/client";
import { createHash } from "node:crypto";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { NodeVersion, nodeVersions, ScalingGroup, scalingGroups } from "../activities/kube/update_kinds.ts";
import { nodeVersionIdOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";
import { shownOf } from "./shown_of.ts";
import { type ObjectNews, tellObjects } from "./tell_objects.ts";

/** The number of its spec, as a run may have read what it said between two equal specs. */
const versions: Resource<string> = {
  ...nodeVersions,
  schema: NodeVersion.transform(({ metadata: { uid, generation, deletionTimestamp } }) =>
    [uid, generation, deletionTimestamp].join(" ")
  ),
};

/** Of a group, whose it is and which. */
const groups: Resource<{ version: string; identity: string }> = {
  ...scalingGroups,
  schema: ScalingGroup.transform(({ metadata: { uid }, spec: { nodeImage, groupId, role } }) => ({
    version: nodeImage,
    identity: digestOf([uid, groupId, role]),
  })),
};

export type NodeVersionDeps = Pick<ObjectNews, "tell" | "every"> & Required<Pick<InformerDeps<never>, "kube" | "log">>;

/** Tells of each until `signal` aborts. */
export async function tellNodeVersions({ kube, log, ...news }: NodeVersionDeps, signal: AbortSignal): Promise<void> {
  const named = new Informer(versions, { kube, log, signal });
  const scaled = new Informer(groups, { kube, log, signal });
  await Promise.all([named.start(), scaled.start()]);
  const seen = (): [string, string][] => {
    const all = [...scaled.values()];
    return named.keys().map((name) => {
      const own = all.filter(({ version }) => version === name).map(({ identity }) => identity).sort();
      return [name, `${named.get(name)} ${digestOf(own)}`];
    });
  };
  await tellObjects({ ...news, what: "node version", seen, log }, signal);
}

/** Tells the run of a NodeVersion to look again, and starts it where there is none. */
export async function rollOutNodeVersion(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.signalWithStart("rollOutNodeVersion", {
    workflowId: nodeVersionIdOf(object),
    taskQueue,
    args: [object],
    signal: "nodeVersionChanged",
    signalArgs: [],
    staticSummary: `Roll out node version ${name}`,
    staticDetails: `Brings all nodes of the scaling groups of NodeVersion \`${name}\` to what it asks for.`,
    ...shownOf(cluster),
  });
}

function digestOf(facts: unknown): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("base64").slice(0, 16);
}

/** Has nodes admitted that a join service let in: each JoiningNode gets a run of its own. */
import type { Client } from "@temporalio/client";
import { z } from "zod";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { joiningNodes } from "../activities/kube/update_kinds.ts";
import { joiningNodeIdOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";
import { shownOf } from "./shown_of.ts";
import { type ObjectNews, tellObjects } from "./tell_objects.ts";

/** Nothing of a record is kept but which one it is: the run reads the rest. */
const records: Resource<string> = {
  ...joiningNodes,
  schema: z.object({ metadata: z.object({ uid: z.string() }) }).transform(({ metadata }) => metadata.uid),
};

export type JoiningDeps = Pick<ObjectNews, "tell" | "every"> & Required<Pick<InformerDeps<never>, "kube" | "log">>;

/** Tells of each record until `signal` aborts. */
export async function tellJoiningNodes({ kube, log, ...news }: JoiningDeps, signal: AbortSignal): Promise<void> {
  const watch = new Informer(records, { kube, log, signal });
  await watch.start();
  const seen = (): [string, string][] => watch.keys().map((name) => [name, watch.get(name) ?? ""]);
  await tellObjects({ ...news, what: "joining node", seen, log }, signal);
}

/** Starts the run that admits it, where there is none. */
export async function admitJoiningNode(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.start("admitJoiningNode", {
    workflowId: joiningNodeIdOf(object),
    workflowIdConflictPolicy: "USE_EXISTING",
    taskQueue,
    args: [object],
    staticSummary: `Admit joining node ${name}`,
    staticDetails: `Writes on the node that \`${name}\` announces what it runs, and forgets the record.`,
    ...shownOf(cluster),
  });
}

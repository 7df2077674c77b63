/**
 * Has nodes admitted that a join service let in, once they have come or their time is over: until then a record costs nothing
 * but its place here, however many there are.
 */
import type { Cluster } from "../activities/cluster.ts";
import type { Client } from "@temporalio/client";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { JoiningNode, joiningNodes } from "../activities/kube/update_kinds.ts";
import { joinDeadlineOf } from "../activities/node_version/joining_nodes.ts";
import { joiningNodeIdOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";
import { shownOf } from "./shown_of.ts";
import { type ObjectNews, tellObjects } from "./tell_objects.ts";

interface RecordFacts {
  uid: string;
  /** Of the node that it announces. */
  node: string;
  /** Epoch ms. */
  deadline: number;
}

const records: Resource<RecordFacts> = {
  ...joiningNodes,
  schema: JoiningNode.transform((record) => {
    return { uid: record.metadata.uid, node: record.spec.name, deadline: joinDeadlineOf(record) };
  }),
};

export type JoiningDeps = Pick<ObjectNews, "tell" | "every"> & Required<Pick<InformerDeps<never>, "log">> & {
  kube: Cluster;
};

/** Tells of each record for which something may be done, until `signal` aborts. */
export async function tellJoiningNodes({ kube, log, ...news }: JoiningDeps, signal: AbortSignal): Promise<void> {
  const watch = new Informer(records, { kube, log, signal });
  await watch.start();
  const nodes = kube.nodes;
  const seen = (): [string, string][] => {
    const names = watch.keys();
    // Nodes are watched as long as there are records.
    if (names.length > 0) nodes.ask();
    return names.flatMap((name) => {
      const record = watch.get(name);
      const node = nodes.isFresh ? nodes.get(record?.node ?? "") : undefined;
      const isOver = record !== undefined && Date.now() >= record.deadline;
      if (!record || (!node && !isOver)) return [];
      // With its time, as a run may have read what the node was between two equal states.
      return [[name, [record.uid, node?.ready ?? "", node?.since ?? "", isOver].join(" ")]];
    });
  };
  await tellObjects({ ...news, what: "joining node", seen, log }, signal);
}

/** Tells the run that admits it to look again, and starts it where there is none. */
export async function admitJoiningNode(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.signalWithStart("admitJoiningNode", {
    workflowId: joiningNodeIdOf(object),
    // Where nobody serves its queue any more, as the cluster was given another name.
    workflowExecutionTimeout: "1 day",
    taskQueue,
    args: [object],
    signal: "joiningChanged",
    signalArgs: [],
    staticSummary: `Admit joining node ${name}`,
    staticDetails: `Writes on the node that \`${name}\` announces what it runs, and forgets the record.`,
    ...shownOf(cluster),
  });
}

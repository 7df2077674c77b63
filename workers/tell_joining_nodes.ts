/**
 * Starts a run for each JoiningNode of a join service once its node has joined or its deadline has passed; until then,
 * the JoiningNode only occupies memory of the controller.
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
  /** The name of the announced node. */
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

type JoiningDeps = Pick<ObjectNews, "tell" | "every"> & Required<Pick<InformerDeps<never>, "log">> & {
  kube: Cluster;
};

/** Until `signal` aborts, signals the run of each JoiningNode whose node exists or whose deadline has passed. */
export async function tellJoiningNodes({ kube, log, ...news }: JoiningDeps, signal: AbortSignal): Promise<void> {
  const watch = new Informer(records, { kube, log, signal });
  await watch.start();
  const nodes = kube.nodes;
  const seen = (): [string, string][] => {
    const names = watch.keys();
    // Requests the watch of Nodes only while JoiningNodes exist.
    if (names.length > 0) nodes.ask();
    return names.flatMap((name) => {
      const record = watch.get(name);
      const node = nodes.isFresh ? nodes.get(record?.node ?? "") : undefined;
      const isOver = record !== undefined && Date.now() >= record.deadline;
      if (!record || (!node && !isOver)) return [];
      // Includes the start time of the node's state: a run may have read another state between two checks that show the
      // same state.
      return [[name, [record.uid, node?.ready ?? "", node?.since ?? "", isOver].join(" ")]];
    });
  };
  await tellObjects({ ...news, what: "joining node", seen, log }, signal);
}

/** Signals the run that admits a node to read its objects again; starts a run if none is open. */
export async function admitJoiningNode(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.signalWithStart("admitJoiningNode", {
    workflowId: joiningNodeIdOf(object),
    // A timeout ends runs on the task queue of a renamed cluster, which no worker serves any more.
    workflowExecutionTimeout: "1 day",
    taskQueue,
    args: [object],
    signal: "joiningChanged",
    signalArgs: [],
    staticSummary: `Admit joining node ${name}`,
    staticDetails:
      `Annotates the node of JoiningNode \`${name}\` with the node's components, and deletes the JoiningNode.`,
    ...shownOf(cluster),
  });
}

/** The few facts about a Node that decide about its machine. */
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";

export interface NodeFacts {
  name: string;
  ready: boolean;
  readyMessage: string;
  kubelet: string;
  /** Epoch ms of the last change between Ready and not. */
  since: number;
}

/** Reads a Node, or undefined when there is none of that name. */
export async function nodeFacts(kube: Kube, name: string): Promise<NodeFacts | undefined> {
  const node = await ifFound(kube.core.readNode({ name }));
  if (!node) return undefined;
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  return {
    name,
    ready: ready?.status === "True",
    readyMessage: ready?.message ?? "it has not reported yet",
    kubelet: node.status?.nodeInfo?.kubeletVersion ?? "",
    since: new Date(ready?.lastTransitionTime ?? Date.now()).getTime(),
  };
}

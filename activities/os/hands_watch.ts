/** Watches hands, the pods that execute orders on nodes: one watch of their namespace for all orders of a process. */
import type { Cluster } from "../cluster.ts";
import type { V1Pod } from "@kubernetes/client-node";
import { z } from "zod";
import { News, sourceOf } from "../kube/polling.ts";
import type { Resource } from "../kube/resources.ts";
import { handsNamespace } from "./hand_pod.ts";

/** The fields of a pod that show the progress of an order. */
const hands: Resource<string> = {
  ...{ group: "", version: "v1", plural: "pods", namespace: handsNamespace },
  schema: z.custom<V1Pod>((object) => typeof object === "object" && object !== null).transform(
    ({ metadata, status }) =>
      JSON.stringify([
        ...[metadata?.uid, metadata?.deletionTimestamp, status?.phase, status?.reason],
        status?.containerStatuses?.map(({ state }) => Object.keys(state ?? {})),
      ]),
  ),
};

/** Returns the events of the pod with this name, for a wait for its result. */
export function newsOfHand(kube: Cluster, name: string): News {
  return new News([sourceOf(kube.watches.of(hands), ({ key }) => key === `${handsNamespace}/${name}`)]);
}

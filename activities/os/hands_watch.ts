/** News of hands: one watch of their namespace for all orders of a process. */
import type { V1Pod } from "@kubernetes/client-node";
import { z } from "zod";
import type { Kube } from "../kube/client.ts";
import { News, sourceOf } from "../kube/polling.ts";
import type { Resource } from "../kube/resources.ts";
import { SharedWatch } from "../kube/informer.ts";
import { handsNamespace } from "./hand_pod.ts";

/** What of a pod tells that an order has gone on. */
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

const watches = new WeakMap<object, SharedWatch<string>>();

/** News of the pod of that name. */
export function newsOfHand(kube: Kube, name: string): News {
  const watch = watches.get(kube.core) ?? new SharedWatch(kube, hands);
  watches.set(kube.core, watch);
  return new News([sourceOf(watch, ({ key }) => key === `${handsNamespace}/${name}`)]);
}

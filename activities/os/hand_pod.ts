/** The pod that is a hand on a node: root there, for one order, with nothing that could be told otherwise. */
import type { V1Pod } from "@kubernetes/client-node";
import type { OsOrder } from "../../workflows/contracts/mod.ts";
import { handNameOf } from "./order.ts";

/** Where hands are, and nothing else: `deploy/kubernetes/hands` limits who makes what there. */
export const handsNamespace = "ostler-hands";
/** All pods of ours there. */
export const handLabels = {
  "app.kubernetes.io/name": "ostler",
  "app.kubernetes.io/component": "hand",
  "app.kubernetes.io/managed-by": "ostler",
};
/** RFC 3339: nobody waits for it after. */
export const untilAnnotation = "ostler.dev/until";

/** A hand that is told to end has nothing to put in order. */
export const handGraceSeconds = 5;
/** No order takes longer. */
const mostSeconds = 86_400;
/** A fetch that brings nothing for so long has stalled. */
const stallSeconds = 90;
const scripts = "ostler-hands-scripts";
/** What the container says becomes its termination message; `deploy/kubernetes/hands/limit_hands.yaml` knows it by heart. */
const command = ["/bin/sh", "-c", 'exec /bin/sh /hands/hand.sh "$@" >/dev/termination-log', "hand"];

/** The pod of an order, with an image by digest; it goes with the node. */
export function handPodOf(order: OsOrder, image: string, now: number): V1Pod {
  const name = handNameOf(order);
  const owner = { apiVersion: "v1", kind: "Node", name: order.node, uid: order.uid };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: handsNamespace,
      labels: { ...handLabels },
      annotations: { [untilAnnotation]: new Date(order.until).toISOString() },
      ownerReferences: [owner],
    },
    spec: {
      // Pinned, and past every taint: an OS is mended where nothing else may run.
      nodeName: order.node,
      tolerations: [{ operator: "Exists" }],
      priorityClassName: "system-node-critical",
      hostPID: true,
      // It begins also where the network of pods is what has to be mended.
      hostNetwork: true,
      dnsPolicy: "Default",
      restartPolicy: "Never",
      activeDeadlineSeconds: Math.min(mostSeconds, Math.max(1, Math.ceil((order.until - now) / 1000))),
      terminationGracePeriodSeconds: handGraceSeconds,
      enableServiceLinks: false,
      serviceAccountName: "ostler-hand",
      automountServiceAccountToken: false,
      containers: [{
        name: "hand",
        image,
        command,
        args: argumentsOf(order, name),
        securityContext: { privileged: true, runAsUser: 0 },
        resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: { cpu: "1", memory: "512Mi" } },
        volumeMounts: [{ name: "scripts", mountPath: "/hands", readOnly: true }],
      }],
      volumes: [{ name: "scripts", configMap: { name: scripts } }],
    },
  };
}

function argumentsOf({ driver, verb, image, digest, bootId, until }: OsOrder, name: string): string[] {
  const words = [driver, verb, image, digest, bootId, name, String(Math.ceil(until / 1000)), String(stallSeconds)];
  return words.map((word) => word || "-");
}

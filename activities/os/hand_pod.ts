/** Defines a hand: a pod that executes one order as root on a node, and takes no further input. */
import type { V1Pod } from "@kubernetes/client-node";
import type { OsOrder } from "../../workflows/contracts/mod.ts";
import { handNameOf } from "./order.ts";

/** The namespace that only hands use; `deploy/kubernetes/hands` limits which pods can be created there, and by whom. */
export const handsNamespace = "ostler-hands";
/** Labels of the pods that execute orders on nodes. */
export const handLabels = {
  "app.kubernetes.io/name": "ostler",
  "app.kubernetes.io/component": "hand",
  "app.kubernetes.io/managed-by": "ostler",
};
/** Annotation with the deadline of the order (RFC 3339), after which no worker waits for the pod. */
export const untilAnnotation = "ostler.dev/until";

/** Grace period of the pod in seconds: short, because the pod has nothing to clean up when it is stopped. */
export const handGraceSeconds = 5;
/** Maximum duration of an order, in seconds. */
const mostSeconds = 86_400;
/** Seconds without new data after which a download on the node counts as stalled. */
export const stallSeconds = 90;
const scripts = "ostler-hands-scripts";
/** The pod of an order: `command` runs a mounted script with the arguments of `args`; each order has its own `name`. */
export interface HandPod {
  name: string;
  node: string;
  uid: string;
  /** Deadline of the order (epoch ms). */
  until: number;
  command: string[];
  /** Returns the script's arguments for a deadline (epoch ms), which an outage of the API server makes later. */
  args(until: number): string[];
}

/**
 * Writes the output of the script into the termination message. The admission policy in
 * `deploy/kubernetes/hands/limit_hands.yaml` contains the same command, so both must change together.
 */
const command = ["/bin/sh", "-c", 'exec /bin/sh /hands/hand.sh "$@" >/dev/termination-log', "hand"];

/** Returns what the pod of an order to an operating system executes. */
export function osCommandOf(order: OsOrder): HandPod {
  const { node, uid, until } = order;
  const name = handNameOf(order);
  return { name, node, uid, until, command, args: (end) => argumentsOf({ ...order, until: end }, name) };
}

/** Returns the pod that executes an order; `image` must have a digest, and the Node owns the pod. */
export function podOf(order: HandPod, image: string, now: number): V1Pod {
  const { name, command, until } = order;
  const owner = { apiVersion: "v1", kind: "Node", name: order.node, uid: order.uid };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: handsNamespace,
      labels: { ...handLabels },
      annotations: { [untilAnnotation]: new Date(until).toISOString() },
      ownerReferences: [owner],
    },
    spec: {
      // Bound to the node, with every taint tolerated, because an OS must be repaired even where no other pod may run.
      nodeName: order.node,
      tolerations: [{ operator: "Exists" }],
      priorityClassName: "system-node-critical",
      hostPID: true,
      // Works also without the network of pods, which may be broken.
      hostNetwork: true,
      dnsPolicy: "Default",
      restartPolicy: "Never",
      activeDeadlineSeconds: Math.min(mostSeconds, Math.max(1, Math.ceil((until - now) / 1000))),
      terminationGracePeriodSeconds: handGraceSeconds,
      enableServiceLinks: false,
      serviceAccountName: "ostler-hand",
      automountServiceAccountToken: false,
      containers: [{
        name: "hand",
        image,
        command,
        args: order.args(until),
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

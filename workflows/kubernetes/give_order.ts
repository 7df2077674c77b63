/**
 * Gives orders to one control plane, and waits until it is healthy after them; each order and each wait has an absolute
 * deadline.
 */
import { uuid4 } from "@temporalio/workflow";
import type { ClusterObject, ControlPlaneState, UpgradeOutcome, UpgradeSurvey, UpgradeVerb } from "../contracts/mod.ts";
import { waits } from "./upgrade_proxies.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

const minute = 60_000;

/** Milliseconds that each order may take: kubeadm pulls images, and waits for the pods of the control plane. */
const orderMs: Record<UpgradeVerb, number> = {
  Plan: 10 * minute,
  Fetch: 30 * minute,
  Apply: 40 * minute,
  Node: 40 * minute,
  Kubelet: 15 * minute,
};
/** Milliseconds until a control plane must be healthy after an order. */
const healthyMs = 15 * minute;

/** A control plane, and the survey that has the desired version. */
export interface OnControlPlane {
  object: ClusterObject;
  survey: Present;
  controlPlane: ControlPlaneState;
}

/** Gives one order and returns its result; the time in which the API server was unavailable does not count. */
export async function giveOrder(
  { object, survey: { version, digest }, controlPlane: { node, uid } }: OnControlPlane,
  verb: UpgradeVerb,
): Promise<UpgradeOutcome> {
  const token = uuid4();
  const summary = `${verb} ${version} on ${node}`;
  for (let until = Date.now() + orderMs[verb];;) {
    const input = { object, node, uid, verb, version, digest, token, until };
    const seen = await waits().awaitUpgradeOrdered.executeWithOptions({ summary }, [input]);
    if (!("unseenMs" in seen)) return seen;
    until += seen.unseenMs;
  }
}

/**
 * Waits until the control plane runs the version (with `kubelet`, also its kubelet) and is healthy, and then returns
 * undefined. If that is not so at the deadline, returns what is missing.
 */
export async function whyUnhealthy(
  { object, survey: { version }, controlPlane: { node, uid } }: OnControlPlane,
  kubelet: boolean,
): Promise<string | undefined> {
  const summary = `Wait for ${node} to be healthy`;
  for (let until = Date.now() + healthyMs;;) {
    const input = { object, node, uid, version, kubelet, until };
    const seen = await waits().awaitControlPlaneHealthy.executeWithOptions({ summary }, [input]);
    if (!("unseenMs" in seen)) return seen.isHealthy ? undefined : seen.evidence;
    until += seen.unseenMs;
  }
}

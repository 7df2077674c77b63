/** Stops of an upgrade of Kubernetes at one control plane, and when each is over. */
import type { UpgradeOutcome, UpgradeRefusal, UpgradeStanding, UpgradeSurvey, UpgradeVerb } from "../contracts/mod.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

/**
 * Why a control plane is not upgraded further, and when Ostler tries again by itself: Soon for a state that the cluster
 * ends, Later for an attempt that failed, Never for a refusal, which needs a change or a request.
 */
export interface UpgradeHalt {
  standing: UpgradeStanding;
  again: "Soon" | "Later" | "Never";
}

/** A halt with its end. */
export interface HeldUpgrade {
  standing: UpgradeStanding;
  /** The uid of the control plane. */
  uid: string;
  /** The desired state, the approval and the request for an attempt: any change of them ends the halt. */
  words: string;
  again: UpgradeHalt["again"];
  /** The next attempt (epoch ms); null for none without a change. */
  until: number | null;
  /** Number of failed attempts in a row. */
  tries: number;
}

/** Milliseconds until the next attempt. */
const pauses = { Soon: 60_000, Later: 600_000 } as const;
/** Number of failed attempts in a row before a person has to ask for another one. */
const mostTries = 6;
const retryAnnotation = "ostler.dev/retry-kubernetes";

/** Returns the halt after an order to a control plane; undefined if the order was carried out. */
export function haltOfOrder(
  { node, verb }: { node: string; verb: UpgradeVerb },
  outcome: UpgradeOutcome,
): UpgradeHalt | undefined {
  if (outcome.outcome === "Done") return undefined;
  const { message } = outcome;
  if (outcome.outcome === "Unknown") {
    return failed(node, `control plane did not report the result of order "${verb}" in time: ${message}`);
  }
  const { reason } = outcome;
  // A server that did not send the components can be reachable again, without any change in the cluster.
  const again = reason === "DownloadFailed" ? "Later" : "Never";
  return { ...failed(node, `${reason}: ${message}; ${remedies[reason]}`), again };
}

const remedies: Record<UpgradeRefusal, string> = {
  DownloadFailed: "check that the node reaches the URLs of the components",
  HashMismatch: "correct the hash or the URL in the ConfigMap of the components",
  NotFetched: "request another attempt",
  KubeadmRefused: "fix what kubeadm reports",
  KubeletFailed: "fix the kubelet of the node",
  ToolMissing: "install the missing tool on the node",
};

/** Returns the halt after a failed attempt, which is repeated. */
export function failed(node: string, cause: string): UpgradeHalt {
  const message = `Failed to upgrade control plane "${node}": ${cause}`;
  return { standing: { reason: "UpgradeHalted", message }, again: "Later" };
}

/** Returns the halt with its end; an attempt that failed like the previous one counts, and their number is bounded. */
export function holdUpgrade(
  { standing: { reason, message }, again }: UpgradeHalt,
  { survey, uid, previous, now }: { survey: Present; uid: string; previous: HeldUpgrade | null; now: number },
): HeldUpgrade {
  const words = wordsOf(survey);
  const held = { uid, words, again };
  const before = previous?.uid === uid && previous.words === words ? previous.tries : 0;
  if (again === "Soon") return { ...held, standing: { reason, message }, until: now + pauses.Soon, tries: before };
  const tries = before + 1;
  const until = again === "Never" || tries >= mostTries ? null : now + pauses.Later;
  const todo = `for another attempt, set annotation ${retryAnnotation} on the NodeVersion to a new value`;
  const next = until === null ? todo : `the next attempt is at ${new Date(until).toISOString()}; ${todo} at once`;
  return { ...held, standing: { reason, message: `${message}; ${next}` }, until, tries };
}

/** Returns whether the halt concerns the present state; if not, it is over, and its attempts do not count. */
export function concerns({ uid, words }: HeldUpgrade, survey: Present): boolean {
  return survey.controlPlanes.some((each) => each.uid === uid) && words === wordsOf(survey);
}

function wordsOf({ digest, approved, retry }: Present): string {
  return JSON.stringify([digest, approved, retry]);
}

/** Why an upgrade of Kubernetes waits at one control plane, and until when. */
import type {
  ControlPlaneState,
  Rules,
  UpgradeOutcome,
  UpgradeRefusal,
  UpgradeStanding,
  UpgradeSurvey,
  UpgradeVerb,
} from "../contracts/mod.ts";
import { lookAtWindows } from "../policy/blocks.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

/**
 * Why a control plane is not upgraded further, and when Ostler tries again by itself. Soon: the obstacle ends without a
 * person, such as a slot that another holder has. Later: an attempt failed. Never: the order was refused, and another
 * attempt needs a change or a request of a person.
 */
export interface UpgradeHalt {
  standing: UpgradeStanding;
  again: "Soon" | "Later" | "Never";
}

/**
 * A halt with the time of the next attempt; continue-as-new hands it to a run that may be of another version of Ostler.
 */
export interface HeldUpgrade {
  standing: UpgradeStanding;
  /** The uid of the control plane. */
  uid: string;
  /**
   * Identifies the desired state, the approval and the request for another attempt; a change of any of them ends the
   * halt.
   */
  words: string;
  again: UpgradeHalt["again"];
  /** Time of the next attempt (epoch ms); null if only a change by a person leads to another attempt. */
  until: number | null;
  /** Number of failed attempts in a row. */
  tries: number;
  /** Whether the control plane ran the version in the first survey after the halt began; absent before that survey. */
  ranVersion?: boolean;
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
    return failed(node, `the result of order "${verb}" did not arrive in time: ${message}`);
  }
  const { reason } = outcome;
  const again = passing.includes(reason) ? "Later" : "Never";
  return { ...failed(node, `${reason}: ${message}; ${remedies[reason]}`), again };
}

/**
 * Returns the halt if the policy of the control plane's group does not permit the work to begin now; undefined if it
 * does, or if the work on the control plane is under way and is completed anyway.
 */
export function haltOfRules(
  { node, isUnderWay }: Pick<ControlPlaneState, "node" | "isUnderWay">,
  rules: Pick<Rules, "conflict" | "windows"> | undefined,
  now: number,
): UpgradeHalt | undefined {
  if (!rules || isUnderWay) return undefined;
  if (rules.conflict !== null) {
    return { standing: { reason: "PolicyConflict", message: rules.conflict }, again: "Soon" };
  }
  const { open, opens } = lookAtWindows(rules.windows, now);
  if (open) return undefined;
  const next = opens === null
    ? "no later window is known"
    : `the next window opens at ${new Date(opens).toISOString()}`;
  const message = `The maintenance windows of control plane "${node}" are closed; ${next}`;
  return { standing: { reason: "OutsideWindow", message }, again: "Soon" };
}

/** Refusals after which another attempt can succeed without a person. */
const passing: readonly UpgradeRefusal[] = ["DownloadFailed", "NotFetched"];

const remedies: Record<UpgradeRefusal, string> = {
  DownloadFailed: "check that the node reaches the URLs of the components",
  HashMismatch: "correct the hash or the URL in the ConfigMap of the components",
  NotFetched: "the next attempt fetches the components again",
  KubeadmRefused: "fix what kubeadm reports",
  KubeletFailed: "fix the kubelet of the node",
  ToolMissing: "install the missing tool on the node",
  AuthorityExternal: "renew the certificates where the key of the authority is, and copy them to the node",
  RestartFailed: "restart the static pods of the node",
};

/** Returns the halt for a failed attempt; Ostler ends this halt by itself and tries again. */
export function failed(node: string, cause: string): UpgradeHalt {
  const message = `Failed to upgrade control plane "${node}": ${cause}`;
  return { standing: { reason: "UpgradeHalted", message }, again: "Later" };
}

/**
 * Returns the halt with the time of the next attempt. Counts the failed attempts in a row on one control plane without
 * a change by a person; after `mostTries`, Ostler does not try again by itself.
 */
export function holdUpgrade(
  halt: UpgradeHalt,
  { survey, ...on }: { survey: Present; uid: string; previous: HeldUpgrade | null; now: number },
): HeldUpgrade {
  return holdHalt(halt, { ...on, words: wordsOf(survey), annotation: retryAnnotation });
}

/**
 * Like `holdUpgrade`. `words` identifies what people have requested; `annotation` is the annotation with which they
 * request another attempt.
 */
export function holdHalt(
  { standing: { reason, message }, again }: UpgradeHalt,
  { words, annotation, uid, previous, now }: {
    words: string;
    annotation: string;
    uid: string;
    previous: HeldUpgrade | null;
    now: number;
  },
): HeldUpgrade {
  const held = { uid, words, again };
  const before = previous?.uid === uid && previous.words === words ? previous.tries : 0;
  if (again === "Soon") return { ...held, standing: { reason, message }, until: now + pauses.Soon, tries: before };
  const tries = before + 1;
  const until = again === "Never" || tries >= mostTries ? null : now + pauses.Later;
  const todo = `for another attempt, set annotation ${annotation} on the NodeVersion to a new value`;
  const next = until === null ? todo : `the next attempt is at ${new Date(until).toISOString()}; ${todo} at once`;
  return { ...held, standing: { reason, message: `${message}; ${next}` }, until, tries };
}

/**
 * Returns the halt if it still applies. Returns null if it is over: a person changed what is desired or upgraded the
 * control plane, or the control plane was replaced.
 */
export function haltIn(survey: Present, halt: HeldUpgrade | null): HeldUpgrade | null {
  const plane = survey.controlPlanes.find(({ uid }) => uid === halt?.uid);
  if (!halt || !plane || halt.words !== wordsOf(survey)) return null;
  const runsVersion = plane.kubelet === survey.version && plane.components === survey.version;
  const { ranVersion = runsVersion } = halt;
  return runsVersion && !ranVersion ? null : { ...halt, ranVersion };
}

/** Returns whether the next attempt must still wait at `now` (epoch ms). */
export function isHeld({ until }: HeldUpgrade, now: number): boolean {
  return until === null || now < until;
}

function wordsOf({ digest, approved, retry }: Present): string {
  return JSON.stringify([digest, approved, retry]);
}

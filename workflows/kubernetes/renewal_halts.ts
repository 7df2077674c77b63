/** Why a renewal of certificates waits at one control plane, and until when. */
import type { RenewalSurvey, UpgradeOutcome, UpgradeRefusal } from "../contracts/mod.ts";
import { type HeldUpgrade, holdHalt, type UpgradeHalt } from "./upgrade_halts.ts";

type Present = Extract<RenewalSurvey, { state: "Present" }>;

const annotation = "ostler.dev/renew-certificates";

/** For each refusal: the remedy, and whether Ostler tries again by itself, even if no person has applied the remedy. */
const refusals: Partial<Record<UpgradeRefusal, { todo: string; again: UpgradeHalt["again"] }>> = {
  AuthorityExternal: {
    todo: "renew the certificates where the key of the authority is, and copy them to the node",
    again: "Never",
  },
  ToolMissing: { todo: "install the missing program on the node", again: "Never" },
  KubeadmRefused: { todo: "fix what kubeadm reports", again: "Later" },
  RestartFailed: { todo: "check the static pods of the node", again: "Later" },
};

/** Returns the halt after an order to a control plane; undefined if the order was carried out. */
export function haltOfRenewal(node: string, outcome: UpgradeOutcome): UpgradeHalt | undefined {
  if (outcome.outcome === "Done") return undefined;
  const { message } = outcome;
  if (outcome.outcome === "Unknown") {
    return failedRenewal(node, `the result of the order did not arrive in time: ${message}`);
  }
  const { todo, again } = refusals[outcome.reason] ?? { todo: "check the node", again: "Never" };
  return { ...failedRenewal(node, `${outcome.reason}: ${message}; ${todo}`), again };
}

/** Returns whether this result shows that no pod of the control plane was restarted, so that it serves as before. */
export function isUntouched(outcome: UpgradeOutcome): boolean {
  return outcome.outcome === "Refused" && outcome.reason !== "RestartFailed";
}

/** Returns the halt for a failed attempt; Ostler ends this halt by itself and tries again. */
export function failedRenewal(node: string, cause: string): UpgradeHalt {
  const message = `Failed to renew the certificates of control plane "${node}": ${cause}`;
  return { standing: { reason: "RenewalHalted", message }, again: "Later" };
}

/** Like `holdUpgrade`, for a renewal of certificates. */
export function holdRenewal(
  halt: UpgradeHalt,
  { survey, ...on }: { survey: Present; uid: string; previous: HeldUpgrade | null; now: number },
): HeldUpgrade {
  return holdHalt(halt, { ...on, words: wordsOf(survey), annotation });
}

/**
 * Returns the halt if it still applies. Returns null if it is over: a person changed the NodeVersion or renewed the
 * certificates, or the control plane was replaced.
 */
export function renewalHaltIn(survey: Present, halt: HeldUpgrade | null): HeldUpgrade | null {
  const plane = survey.controlPlanes.find(({ uid }) => uid === halt?.uid);
  if (!halt || !plane || halt.words !== wordsOf(survey)) return null;
  return plane.isUnderWay || plane.due !== "" ? halt : null;
}

function wordsOf({ generation, setting }: Present): string {
  return JSON.stringify([generation, setting]);
}

/** The next step of a renewal of certificates, as a pure function of one survey. */
import type { RenewalPlane, RenewalSurvey, UpgradeStanding } from "../contracts/mod.ts";
import { planesText } from "./upgrade_refusal.ts";

type Present = Extract<RenewalSurvey, { state: "Present" }>;

/**
 * One step, and the status to report meanwhile. Renew: renew the certificates of one control plane. Done: nothing has
 * to be renewed, a person has turned the renewal off, or Ostler cannot run orders on nodes.
 */
export type RenewalStep =
  | { step: "Wait" | "Done"; standing: UpgradeStanding }
  | { step: "Renew"; controlPlane: RenewalPlane; standing: UpgradeStanding };

/**
 * Returns the next step: the renewal of the control plane under way, otherwise of the next control plane whose
 * certificates expire soon. The leader of etcd comes last, so that the leadership moves only once. No renewal begins
 * while a control plane is not Ready. The renewal of another control plane would take a second one out of service, and
 * the slot for a renewal of the control plane that is not Ready would delay the repair of its machine.
 */
export function nextRenewalStep(survey: Present): RenewalStep {
  const { controlPlanes, trouble, setting } = survey;
  const underWay = controlPlanes.find(({ isUnderWay }) => isUnderWay);
  const [next] = underWay ? [underWay] : controlPlanes.filter(({ due }) => due !== "").sort(byOrder);
  if (!next) return { step: "Done", standing: done(survey) };
  // Without setting hands-image Ostler renews no certificates, so HandsMissing is a failure only while a renewal is
  // under way; the expiry of certificates is reported in any case.
  if (trouble) return { step: trouble.reason === "HandsMissing" && !underWay ? "Done" : "Wait", standing: trouble };
  if (underWay) return { step: "Renew", controlPlane: next, standing: renewing(next) };
  if (setting === "Off") return { step: "Done", standing: off };
  const { node, components } = next;
  if (components === "") {
    const state = `control plane "${node}" does not run the static pods of kubeadm with images of one version`;
    return {
      step: "Wait",
      standing: { reason: "ControlPlaneUnknown", message: `Cannot renew certificates: ${state}` },
    };
  }
  const silent = controlPlanes.filter((each) => !each.isReady);
  if (silent.length > 0) return awaitingReady(silent, next);
  return { step: "Renew", controlPlane: next, standing: renewing(next) };
}

/** Returns the wait until `silent` are Ready, before the renewal of `next` begins or continues. */
export function awaitingReady(silent: readonly RenewalPlane[], next: RenewalPlane): RenewalStep {
  const message = `Waiting for ${planesText(silent)} to be Ready before "${next.node}" gets new certificates`;
  return { step: "Wait", standing: { reason: "ControlPlaneNotReady", message } };
}

function byOrder(one: RenewalPlane, other: RenewalPlane): number {
  return Number(one.isLeader) - Number(other.isLeader) || (one.node < other.node ? -1 : 1);
}

const off: UpgradeStanding = {
  reason: "RenewalOff",
  message: "Annotation ostler.dev/renew-certificates turns the renewal of certificates off",
};

function done({ controlPlanes: { length } }: Present): UpgradeStanding {
  const of = length === 1 ? "the control plane" : `${length} control planes`;
  return { reason: "CertificatesRenewed", message: `No certificate of the servers of ${of} expires soon` };
}

function renewing({ node, due }: RenewalPlane): UpgradeStanding {
  const why = due === "" ? "" : ` because one expires soon: that of ${due}`;
  return { reason: "Renewing", message: `Renewing the certificates of control plane "${node}"${why}` };
}

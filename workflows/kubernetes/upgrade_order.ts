/** The order in which an upgrade would upgrade the control planes, as a pure function of one survey. */
import type { ControlPlaneState, UpgradeStanding, UpgradeSurvey } from "../contracts/mod.ts";
import { type ComponentsVerb, nextUpgradeStep, type UpgradeStep } from "./next_upgrade_step.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

/** A control plane as it is before its upgrade, and the command of kubeadm that upgrades it. */
export interface PlannedUpgrade {
  controlPlane: ControlPlaneState;
  verb: ComponentsVerb;
}

/**
 * The control planes in the order of their upgrade. `end` is why the upgrade would stop before all run the version,
 * absent if it would not.
 */
interface ForeseenOrder {
  order: PlannedUpgrade[];
  end?: UpgradeStanding;
}

/**
 * Returns the order of the upgrades as if the version were approved, a check had no findings, and all control planes
 * were Ready; an empty order if the version is refused, or all run it.
 */
export function upgradeOrder(survey: Present): ForeseenOrder {
  const before = new Map(survey.controlPlanes.map((each) => [each.uid, each]));
  const check = { digest: survey.digest, findings: [] };
  const order: PlannedUpgrade[] = [];
  let now = { ...survey, approved: survey.version };
  now.controlPlanes = now.controlPlanes.map((each) => ({ ...each, isReady: true }));
  // Each control plane is upgraded, finished and annotated once at most.
  for (let left = 3 * before.size; left >= 0; left--) {
    const next = nextUpgradeStep(now, check);
    if (next.step === "Done") break;
    if (!("controlPlane" in next)) return { order, end: next.standing };
    const controlPlane = before.get(next.controlPlane.uid);
    if (next.step === "Upgrade" && controlPlane) order.push({ controlPlane, verb: next.verb });
    now = after(now, next);
  }
  return { order };
}

function after(survey: Present, next: Extract<UpgradeStep, { controlPlane: unknown }>): Present {
  const { version } = survey;
  const isUpgrade = next.step === "Upgrade";
  const controlPlanes = survey.controlPlanes.map((each) => {
    if (each.uid !== next.controlPlane.uid) return each;
    const ended = { ...each, isUnderWay: false, isCordoned: false };
    if (next.step === "Release") return ended;
    return { ...ended, isAnnounced: true, ...(isUpgrade ? { kubelet: version, components: version } : {}) };
  });
  return { ...survey, ...(isUpgrade ? { cluster: version } : {}), controlPlanes };
}

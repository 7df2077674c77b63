/** The next step of an upgrade of Kubernetes, as a pure function of one survey and of the findings of a check. */
import type {
  ControlPlaneState,
  UpgradeCheck,
  UpgradeFinding,
  UpgradeStanding,
  UpgradeSurvey,
  UpgradeTrouble,
  UpgradeVerb,
} from "../contracts/mod.ts";
import { planesText, upgradeRefusalOf } from "./upgrade_refusal.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

/**
 * One step, and the status to report meanwhile. Check: find out whether the upgrade can begin. Upgrade: upgrade one
 * control plane, its components with `verb`. Finish: end the work on a control plane that runs the version. Release:
 * uncordon a control plane on which nothing is half done, because the upgrade cannot go on. Announce: annotate a
 * control plane with the components that it runs.
 */
export type UpgradeStep =
  | { step: "Refuse" | "AwaitApproval" | "Wait" | "Done"; standing: UpgradeStanding }
  | { step: "Check" | "Finish" | "Release" | "Announce"; controlPlane: ControlPlaneState; standing: UpgradeStanding }
  | { step: "Upgrade"; controlPlane: ControlPlaneState; verb: ComponentsVerb; standing: UpgradeStanding };

/**
 * Apply (`kubeadm upgrade apply`) upgrades the first control plane, and Node (`kubeadm upgrade node`) every other one.
 */
export type ComponentsVerb = Extract<UpgradeVerb, "Apply" | "Node">;

/** Maximum number of findings in a message, and maximum characters of each. */
const shown = { findings: 5, length: 300 };

/**
 * Returns the next step: check → approval → one control plane after the other. The upgrade of a control plane does not
 * begin while another one is not Ready. `check` is null if the present state was not checked yet.
 */
export function nextUpgradeStep(survey: Present, check: UpgradeCheck | null): UpgradeStep {
  const { trouble } = survey;
  if (trouble) return isUnneeded(survey) ? done(survey) : stopFor(survey, trouble);
  const refusal = upgradeRefusalOf(survey);
  if (refusal) return stop(survey, "Refuse", refusal);
  const finished = survey.controlPlanes.find((each) => hasBegun(each) && runsVersion(survey, each));
  if (finished) return { step: "Finish", controlPlane: finished, standing: upgrading(survey, finished) };
  const next = nextControlPlane(survey);
  if (survey.cluster !== survey.version) return begin(survey, check, next);
  return runsVersion(survey, next) ? announce(survey) ?? done(survey) : differing(survey) ?? go(survey, next);
}

/**
 * Returns Refuse, but before it Release for each cordoned control plane that no longer belongs to a group of this
 * NodeVersion and on which nothing is half done. The upgrade of the NodeVersion to which such a control plane belongs
 * now can then continue with it.
 */
function stopFor(survey: Present, trouble: UpgradeTrouble): UpgradeStep {
  const moved = survey.controlPlanes.find((each) =>
    each.group === "" && each.isCordoned && each.isReady && isWhole(each) && each.kubelet !== ""
  );
  const standing = withCordoned(survey, trouble);
  return moved ? { step: "Release", controlPlane: moved, standing } : { step: "Refuse", standing };
}

/**
 * Returns the next step while kubeadm has not recorded the version for the cluster: check, approval, upgrade. After
 * kubeadm has recorded the version, it cannot downgrade.
 */
function begin(survey: Present, check: UpgradeCheck | null, next: ControlPlaneState): UpgradeStep {
  if (next.isUnderWay && next.components === survey.version) return upgrade(survey, next);
  if (check?.digest !== survey.digest) return { step: "Check", controlPlane: next, standing: checking(survey) };
  const { findings } = check;
  const stopping = findings.filter(({ stops }) => stops);
  if (stopping.length > 0) return stop(survey, "Wait", blocked(survey, stopping));
  if (!isApproved(survey)) return stop(survey, "AwaitApproval", awaiting(survey, findings));
  // A finding does not block the control plane under way, because the finding may be that this control plane is not
  // Ready, and its upgrade can change that.
  if (findings.length > 0 && !next.isUnderWay) return { step: "Wait", standing: blocked(survey, findings) };
  return upgrade(survey, next);
}

/**
 * Returns the upgrade of the next control plane if the version is still approved, or if that control plane is under way
 * and cordoned or half done. Otherwise returns the wait for approval, even if the control plane already has the slot.
 */
function go(survey: Present, next: ControlPlaneState): UpgradeStep {
  const isTouched = next.isUnderWay && (next.isCordoned || !isWhole(next));
  if (isTouched || isApproved(survey)) return upgrade(survey, next);
  return stop(survey, "AwaitApproval", awaiting(survey, []));
}

/**
 * Returns Upgrade if all other control planes are Ready, otherwise Wait. A control plane under way need not be Ready
 * itself, because only its own upgrade can make it Ready again.
 */
function upgrade(survey: Present, controlPlane: ControlPlaneState): UpgradeStep {
  const isAwaited = ({ uid, isUnderWay }: ControlPlaneState): boolean => uid !== controlPlane.uid || !isUnderWay;
  const silent = survey.controlPlanes.filter((each) => !each.isReady && isAwaited(each));
  if (silent.length > 0) {
    const message = `Waiting for ${planesText(silent)} to be Ready before the upgrade continues`;
    return { step: "Wait", standing: { reason: "ControlPlaneNotReady", message } };
  }
  const verb = survey.cluster === survey.version ? "Node" : "Apply";
  return { step: "Upgrade", controlPlane, verb, standing: upgrading(survey, controlPlane) };
}

/** Returns the first control plane to annotate with its components; undefined if all are annotated. */
function announce(survey: Present): UpgradeStep | undefined {
  const found = survey.controlPlanes.find(({ isAnnounced }) => !isAnnounced);
  return found && { step: "Announce", controlPlane: found, standing: upgrading(survey, found) };
}

/**
 * Refuses a change of the components of a version that some control planes already run: these would keep the previous
 * components, and the other control planes would get the changed ones. Recognizes these control planes by their
 * annotation, which names other components than the NodeVersion; returns undefined without such a control plane.
 */
function differing(survey: Present): UpgradeStep | undefined {
  const { components, version } = survey;
  const found = survey.controlPlanes.filter((each) =>
    runsVersion(survey, each) && !each.isAnnounced && !each.isUnannotated
  );
  if (found.length === 0) return undefined;
  const message = `Cannot upgrade Kubernetes to "${version}" with ConfigMap "${components}": ` +
    `${planesText(found, "runs", "run")} that version with components of another ConfigMap, which are not replaced; ` +
    "name that ConfigMap until all control planes run the version";
  return stop(survey, "Refuse", { reason: "ComponentsChanged", message });
}

function done(survey: Present): UpgradeStep {
  const { controlPlanes: { length }, version } = survey;
  const message = `${
    length === 1 ? "The control plane runs" : `All ${length} control planes run`
  } Kubernetes ${version}`;
  return { step: "Done", standing: { reason: "UpToDate", message } };
}

/**
 * Returns `step`, with which the upgrade stops, but before it Release for a control plane on which the upgrade has
 * begun and nothing is half done: it is Ready, and its kubelet and components have the same version.
 */
function stop(survey: Present, step: "Refuse" | "AwaitApproval" | "Wait", standing: UpgradeStanding): UpgradeStep {
  const whole = survey.controlPlanes.find((each) => hasBegun(each) && each.isReady && isWhole(each));
  if (whole) return { step: "Release", controlPlane: whole, standing };
  return { step, standing: withCordoned(survey, standing) };
}

function withCordoned({ controlPlanes }: Present, { reason, message }: UpgradeStanding): UpgradeStanding {
  const states = [
    [false, true, "is half done and stays cordoned", "are half done and stay cordoned"],
    [false, false, "is half done", "are half done"],
    [true, true, "stays cordoned", "stay cordoned"],
  ] as const;
  const said = states.flatMap(([whole, cordoned, one, many]) => {
    const alike = controlPlanes.filter((each) =>
      hasBegun(each) && isWhole(each) === whole && each.isCordoned === cordoned
    );
    return alike.length === 0 ? [] : planesText(alike, one, many);
  });
  return { reason, message: [message, ...said].join("; ") };
}

function isWhole({ kubelet, components }: ControlPlaneState): boolean {
  return kubelet === components;
}

/**
 * Returns whether the upgrade still has to give back a slot or remove a cordon on this control plane. A control plane
 * can have the cordon without the slot, because the slot can expire or be given back earlier.
 */
export function hasBegun({ isUnderWay, isCordoned }: Pick<ControlPlaneState, "isUnderWay" | "isCordoned">): boolean {
  return isUnderWay || isCordoned;
}

// Versions of control planes, and their order.

/**
 * Returns whether nothing is to be upgraded, so that no failure matters: each control plane is annotated with the
 * desired components, and runs the desired version as far as it is known.
 */
function isUnneeded({ version, cluster, controlPlanes }: Present): boolean {
  const known = [cluster, ...controlPlanes.map(({ components }) => components)].filter((each) => each !== "");
  const isDone = (each: ControlPlaneState): boolean => each.isAnnounced && each.kubelet === version && !hasBegun(each);
  return controlPlanes.length > 0 && controlPlanes.every(isDone) && known.every((each) => each === version);
}

function runsVersion({ version }: Present, { kubelet, components }: ControlPlaneState): boolean {
  return kubelet === version && components === version;
}

/**
 * Returns the control plane to upgrade next; if that control plane already runs the desired version, all of them do.
 */
function nextControlPlane(survey: Present): ControlPlaneState {
  const [first] = survey.controlPlanes.toSorted((one, other) => compare(survey, one, other));
  if (!first) throw new TypeError("Failed to choose a control plane: the survey has no control plane");
  return first;
}

/**
 * Sorts control planes for their upgrade: the one under way first, then one that is half done, and the leader of etcd
 * last, so that the leadership moves only once. Control planes that run the version come after all others.
 */
function compare(survey: Present, one: ControlPlaneState, other: ControlPlaneState): number {
  const ranks = (each: ControlPlaneState): number[] => [
    Number(runsVersion(survey, each)),
    Number(!each.isUnderWay),
    Number(each.components !== survey.version && each.kubelet !== survey.version),
    Number(!each.isCordoned),
    Number(each.isLeader),
  ];
  const [ours, theirs] = [ranks(one), ranks(other)];
  const nth = ours.findIndex((rank, index) => rank !== theirs[index]);
  if (nth >= 0) return (ours[nth] ?? 0) - (theirs[nth] ?? 0);
  return one.node < other.node ? -1 : 1;
}

function isApproved({ approved, version }: Present): boolean {
  return approved === version;
}

// Messages.

function upgrading(survey: Present, { node }: ControlPlaneState): UpgradeStanding {
  const { controlPlanes, version } = survey;
  const upgraded = controlPlanes.filter((each) => runsVersion(survey, each) && !each.isUnderWay).length;
  const progress = `${upgraded} of ${controlPlanes.length} control planes are done`;
  return { reason: "Upgrading", message: `Upgrading control plane "${node}" to Kubernetes "${version}"; ${progress}` };
}

function checking({ version, cluster }: Present): UpgradeStanding {
  return { reason: "Checking", message: `Checking whether Kubernetes "${cluster}" can be upgraded to "${version}"` };
}

function blocked({ version }: Present, findings: UpgradeFinding[]): UpgradeStanding {
  const [first] = findings;
  const message = `Cannot begin the upgrade to Kubernetes "${version}" yet: ${textOf(findings)}`;
  return { reason: first?.kind ?? "Checking", message };
}

function awaiting(
  { controlPlanes: { length }, version, cluster }: Present,
  findings: UpgradeFinding[],
): UpgradeStanding {
  const planes = length === 1 ? "the control plane" : `${length} control planes, one at a time,`;
  const what = cluster === version
    ? `upgrade the remaining control planes to Kubernetes "${version}"`
    : `upgrade ${planes} from Kubernetes "${cluster}" to "${version}", which only a restored etcd snapshot can revert`;
  const todo = `to approve, set annotation ostler.dev/approved-kubernetes: "${version}" on the NodeVersion`;
  // Two members of etcd have no quorum while one of them restarts.
  const outage = length < 3 ? "; etcd and the API server will be unavailable for minutes meanwhile" : "";
  const found = findings.length === 0 ? "" : `; findings: ${textOf(findings)}`;
  return { reason: "AwaitingApproval", message: `Waiting for approval to ${what}${outage}; ${todo}${found}` };
}

function textOf(findings: UpgradeFinding[]): string {
  const texts = findings.slice(0, shown.findings).map(({ message }) => message.slice(0, shown.length));
  const more = findings.length - texts.length;
  return [...texts, ...(more > 0 ? [`${more} more`] : [])].join("; ");
}

/** Why an upgrade of Kubernetes cannot begin or go on until a person changes something, as a function of one survey. */
import type { ControlPlaneState, UpgradeStanding, UpgradeSurvey } from "../contracts/mod.ts";
import { compareVersions, type KubernetesVersion, minorsBetween, versionIn } from "./versions.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

/** A kubelet may be this many minor versions older than its API server (kubernetes.io, "Version Skew Policy"). */
const kubeletSkew = 3;
/** Maximum number of nodes that a message names. */
const named = 3;

/** The valid versions of a survey. */
interface Versions {
  desired: KubernetesVersion;
  cluster: KubernetesVersion;
}

/**
 * Returns why the desired version is refused; undefined if it is not. Checks the kubelets of workers only before the
 * first control plane runs the version: after that, stopping the upgrade would not help these kubelets.
 */
export function upgradeRefusalOf(survey: Present): UpgradeStanding | undefined {
  const desired = versionIn(survey.version);
  if (!desired) return refuse(survey, "VersionInvalid", "that is not a released version such as v1.36.1");
  const cluster = versionIn(survey.cluster);
  if (!cluster) {
    return refuse(
      survey,
      "VersionUnknown",
      `kubeadm recorded "${survey.cluster}" as the version of the cluster, which is not a release`,
    );
  }
  const versions = { desired, cluster };
  return unknownIn(survey) ?? downgradeIn(survey, versions) ?? skippedIn(survey, versions) ?? skewIn(survey, versions);
}

/**
 * Refuses control planes whose version is unknown, except for one under way: some of its components may be stopped
 * until its upgrade is complete.
 */
function unknownIn(survey: Present): UpgradeStanding | undefined {
  const { controlPlanes } = survey;
  if (controlPlanes.length === 0) {
    return refuse(survey, "ControlPlaneUnknown", "the cluster has no known control plane");
  }
  const isUnknown = ({ kubelet, components, isUnderWay }: ControlPlaneState): boolean =>
    !isUnderWay && (versionIn(kubelet) === undefined || versionIn(components) === undefined);
  const unknown = controlPlanes.filter(isUnknown);
  if (unknown.length === 0) return undefined;
  return refuse(survey, "VersionUnknown", `cannot determine the versions of ${planesText(unknown)}`);
}

function downgradeIn(survey: Present, { desired, cluster }: Versions): UpgradeStanding | undefined {
  const todo = "kubeadm cannot downgrade; name that version or a later one";
  if (compareVersions(desired, cluster) < 0) {
    return refuse(survey, "Downgrade", `the cluster runs "${survey.cluster}", and ${todo}`);
  }
  const newer = survey.controlPlanes.filter(({ components }) => isNewer(components, desired));
  if (newer.length === 0) return undefined;
  return refuse(survey, "Downgrade", `${planesText(newer, "runs", "run")} a later version, and ${todo}`);
}

function skippedIn(survey: Present, { desired, cluster }: Versions): UpgradeStanding | undefined {
  const todo = "kubeadm upgrades by one minor version at a time; name a version of the next minor version first";
  if (isSkipped(cluster, desired)) {
    return refuse(survey, "MinorSkipped", `the cluster runs "${survey.cluster}", and ${todo}`);
  }
  const behind = survey.controlPlanes.filter(({ components }) => {
    const version = versionIn(components);
    return version !== undefined && isSkipped(version, desired);
  });
  if (behind.length === 0) return undefined;
  return refuse(
    survey,
    "MinorSkipped",
    `${planesText(behind, "is", "are")} more than one minor version behind, and ${todo}`,
  );
}

function isSkipped(from: KubernetesVersion, to: KubernetesVersion): boolean {
  return (minorsBetween(from, to) ?? Infinity) > 1;
}

function skewIn(survey: Present, { desired }: Versions): UpgradeStanding | undefined {
  const { controlPlanes, workers, cluster, version } = survey;
  const newer = controlPlanes.filter(({ kubelet }) => isNewer(kubelet, desired));
  if (newer.length > 0) return tooNew(survey, `${kubeletsText(newer)} newer than that`);
  if (cluster === version) return undefined;
  const old = controlPlanes.filter(({ kubelet }) => isTooOld(kubelet, desired));
  if (old.length > 0) return tooOld(survey, `${kubeletsText(old)} too old`);
  if (workers.nodes === 0) return undefined;
  if ([workers.oldest, workers.newest].some((text) => versionIn(text) === undefined)) {
    return refuse(
      survey,
      "VersionUnknown",
      "a worker node has a kubelet whose version is unknown or not a release",
    );
  }
  if (isNewer(workers.newest, desired)) return tooNew(survey, `a node runs kubelet "${workers.newest}"`);
  if (isTooOld(workers.oldest, desired)) return tooOld(survey, `a node runs kubelet "${workers.oldest}"`);
  return undefined;
}

function tooNew(survey: Present, state: string): UpgradeStanding {
  return refuse(survey, "KubeletTooNew", `${state}, and a kubelet must not be newer than its API server`);
}

function tooOld(survey: Present, state: string): UpgradeStanding {
  const rule = `a kubelet may be at most ${kubeletSkew} minor versions older than its API server`;
  return refuse(survey, "KubeletTooOld", `${state}, and ${rule}; update the node first`);
}

function isNewer(text: string, than: KubernetesVersion): boolean {
  const version = versionIn(text);
  return version !== undefined && compareVersions(version, than) > 0;
}

function isTooOld(text: string, desired: KubernetesVersion): boolean {
  const version = versionIn(text);
  return version !== undefined && (minorsBetween(version, desired) ?? Infinity) > kubeletSkew;
}

/** Returns text for a message: some names of the control planes, then `one` or `several` (a verb) by their number. */
export function planesText(
  nodes: readonly Pick<ControlPlaneState, "node">[],
  ...[one, several]: [] | [one: string, several: string]
): string {
  const names = nodes.slice(0, named).map(({ node }) => `"${node}"`).join(", ");
  const more = nodes.length > named ? ` and ${nodes.length - named} more` : "";
  const verb = nodes.length === 1 ? one : several;
  return `control plane${nodes.length === 1 ? "" : "s"} ${names}${more}${verb === undefined ? "" : ` ${verb}`}`;
}

function kubeletsText(nodes: readonly ControlPlaneState[]): string {
  return nodes.length === 1 ? `the kubelet of ${planesText(nodes)} is` : `the kubelets of ${planesText(nodes)} are`;
}

function refuse({ version }: Present, reason: string, cause: string): UpgradeStanding {
  return { reason, message: `Cannot upgrade Kubernetes to "${version}": ${cause}` };
}

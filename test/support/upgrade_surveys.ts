/** Surveys of an upgrade of Kubernetes: three control planes from v1.35.4 to v1.36.1. */
import type { ControlPlaneState, UpgradeSurvey } from "../../workflows/contracts/mod.ts";

export type PresentUpgrade = Extract<UpgradeSurvey, { state: "Present" }>;

export const versions = { old: "v1.35.4", desired: "v1.36.1" } as const;

/** Returns a control plane with the name `node` that runs the old version. */
export function controlPlane(node: string, differs: Partial<ControlPlaneState> = {}): ControlPlaneState {
  return {
    ...{ node, uid: `uid-of-${node}`, group: "control", machine: `machine-of-${node}` },
    ...{ kubelet: versions.old, components: versions.old, isReady: true, isLeader: false },
    ...{ isAnnounced: false, isUnderWay: false, isCordoned: false },
    ...differs,
  };
}

/** Fields of a control plane whose upgrade is complete. */
export const upgraded = { kubelet: versions.desired, components: versions.desired, isAnnounced: true } as const;

/** Returns the survey of an approved upgrade that has not begun; control plane "b" leads etcd. */
export function surveyedUpgrade(differs: Partial<PresentUpgrade> = {}): PresentUpgrade {
  return {
    ...{ state: "Present", fingerprint: "f", digest: "d", version: versions.desired, components: "components-2" },
    ...{ cluster: versions.old, approved: versions.desired, retry: "", trouble: null },
    controlPlanes: [controlPlane("c"), controlPlane("b", { isLeader: true }), controlPlane("a")],
    workers: { nodes: 5, oldest: "v1.34.0", newest: versions.old },
    ...differs,
  };
}

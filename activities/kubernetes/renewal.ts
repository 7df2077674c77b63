/** Renewals of the certificates of control planes: which are due, and what is reported about them. */
import type { ClusterObject, RenewalSurvey, UpgradeStanding } from "../../workflows/contracts/mod.ts";
import type { Cluster } from "../cluster.ts";
import { groupKeyOf } from "../clouds/driver.ts";
import type { Kube } from "../kube/client.ts";
import { listClusterObjects, readClusterObject } from "../kube/resources.ts";
import { attempting, ifFound, sideBySide } from "../kube/status.ts";
import { nodeVersions, scalingGroups } from "../kube/update_kinds.ts";
import { showCertificates } from "../node_version/certificates.ts";
import { readGroupNodes } from "../node_version/group_nodes.ts";
import { tellCondition } from "../node_version/version_release.ts";
import { holderOfRenewal } from "../pool/upgraded_nodes.ts";
import { dueOf, recordsIn, recordsOfKubeadm, titleOf } from "../status/certificate_record.ts";
import { askedRenewal, renewalAnnotation, renewalCondition, settingOf } from "../status/renewal_setting.ts";
import { needControlPlane } from "./announce.ts";
import { readPlanes } from "./control_planes.ts";
import { readClusterVersion } from "./cluster_version.ts";
import { troubleWithOrders, type UpgradeReader } from "./survey.ts";

/** Reads everything on which a renewal depends; Gone if the NodeVersion was or is being deleted. */
export function surveyRenewal(reader: UpgradeReader, { object }: { object: ClusterObject }): Promise<RenewalSurvey> {
  const { kube, hasHands } = reader;
  return attempting(`survey the certificates of NodeVersion "${object.name}"`, async () => {
    const version = await ifFound(readClusterObject(kube, nodeVersions, object.name));
    if (!version || version.metadata.deletionTimestamp) return { state: "Gone" };
    const [cluster, planes] = await sideBySide(
      readClusterVersion(kube),
      readPlanes(reader, { object, version, holder: holderOfRenewal(object) }),
    );
    const [records, now] = [recordsIn(version.status), Date.now()];
    return {
      state: "Present",
      ...{ generation: version.metadata.generation ?? 0, cluster, setting: settingOf(version) },
      told: version.status?.conditions.find(({ type }) => type === renewalCondition.type)?.reason ?? "",
      trouble: troubleWithOrders({ cluster, hasHands }, "renew certificates of control planes"),
      controlPlanes: planes.controlPlanes.filter(({ group }) => group !== "").map((plane) => {
        const due = dueOf(recordsOfKubeadm(records, plane.node), now);
        return { ...plane, due: due ? `${titleOf(due)}, which expires at ${due.expiresAt}` : "" };
      }),
    };
  });
}

/**
 * Reads the certificates of a control plane, and writes their expiry to the status of the NodeVersion; certificates of
 * other control planes are read only if they were not read for an hour.
 */
export function ensureCertificatesRead(
  kube: Cluster,
  { object: { name }, node, uid }: { object: ClusterObject; node: string; uid: string },
): Promise<void> {
  const what = `read the certificates of control plane "${node}"`;
  return attempting(what, async () => {
    await needControlPlane(kube, { node, uid, what });
    const version = await ifFound(readClusterObject(kube, nodeVersions, name));
    if (!version) return;
    const groups = await listClusterObjects(kube, scalingGroups);
    const keys = groups.filter(({ spec }) => spec.nodeImage === name).map(({ spec }) => groupKeyOf(spec.groupId));
    const controlPlanes = (await readGroupNodes(kube)).filter(({ isControlPlane, group }) =>
      isControlPlane && keys.includes(groupKeyOf(group))
    );
    await showCertificates(kube, version, { controlPlanes, now: Date.now(), again: node });
  });
}

/** The reason of a completed renewal, and the reasons that require no action. */
const done = "CertificatesRenewed";
const inProgress = ["Renewing", "ClusterBudget", "OutsideWindow", "RenewalOff"];

/** Writes the condition CertificatesRenewed, and emits an Event for a new reason. */
export function ensureRenewalReported(
  kube: Kube,
  { object: { name }, standing }: { object: ClusterObject; standing: UpgradeStanding },
): Promise<void> {
  const { reason } = standing;
  const isCancelled = reason === renewalCondition.cancelled;
  const todo = isCancelled ? `; to allow the renewal again, set annotation ${renewalAnnotation} to a new value` : "";
  const message = `${standing.message}${todo}`;
  const status = reason === done ? "True" : "False";
  const isWell = reason === done || inProgress.includes(reason);
  return tellCondition(kube, name, (version) => {
    const beside = { cancelledRenewal: isCancelled ? askedRenewal(version) : null };
    return { type: renewalCondition.type, status, reason, message, isWell, beside };
  });
}

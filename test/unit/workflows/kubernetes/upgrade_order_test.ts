import { deepEqual, equal } from "node:assert/strict";
import { upgradeOrder } from "../../../../workflows/kubernetes/upgrade_order.ts";
import {
  controlPlane,
  type PresentUpgrade,
  surveyedUpgrade,
  upgraded,
  versions,
} from "../../../support/upgrade_surveys.ts";

function orderOf(differs: Partial<PresentUpgrade>): string[] {
  return upgradeOrder(surveyedUpgrade(differs)).order.map(({ controlPlane: { node }, verb }) => `${verb} ${node}`);
}

const cluster = versions.desired;

Deno.test("K23 upgradeOrder: begins with kubeadm upgrade apply on the first control plane, and ends with the leader of etcd", () => {
  deepEqual(orderOf({}), ["Apply a", "Node c", "Node b"]);
  deepEqual(orderOf({ approved: "", controlPlanes: [controlPlane("a")] }), ["Apply a"]);
});

Deno.test("upgradeOrder: begins with the control plane in progress, and omits control planes that run the version", () => {
  const underWay = controlPlane("b", { isLeader: true, isUnderWay: true, isCordoned: true });
  const planes = (...others: PresentUpgrade["controlPlanes"]): Partial<PresentUpgrade> => ({
    ...{ cluster, controlPlanes: [...others, underWay] },
  });
  deepEqual(orderOf(planes(controlPlane("a"), controlPlane("c", upgraded))), ["Node b", "Node a"]);
  deepEqual(orderOf(planes(controlPlane("a", { ...upgraded, isCordoned: true }))), ["Node b"]);
});

Deno.test("upgradeOrder: includes control planes that are not Ready, and does not modify the survey", () => {
  const survey = surveyedUpgrade({ controlPlanes: [controlPlane("a", { isReady: false }), controlPlane("b")] });
  const before = structuredClone(survey);
  const { order, end } = upgradeOrder(survey);
  deepEqual(order.map(({ controlPlane: { node, isReady } }) => [node, isReady]), [["a", false], ["b", true]]);
  deepEqual([end, survey], [undefined, before]);
});

Deno.test("upgradeOrder: is empty when all control planes run the version, or when the upgrade is refused", () => {
  const controlPlanes = [controlPlane("a", upgraded), controlPlane("b", { ...upgraded, isAnnounced: false })];
  deepEqual(upgradeOrder(surveyedUpgrade({ cluster, controlPlanes })), { order: [] });
  const { order, end } = upgradeOrder(surveyedUpgrade({ version: versions.old, cluster: versions.desired }));
  deepEqual([order, end?.reason], [[], "Downgrade"]);
  equal(upgradeOrder(surveyedUpgrade({ controlPlanes: [] })).end?.reason, "ControlPlaneUnknown");
});

Deno.test("upgradeOrder: stops before the control plane at which the upgrade would be refused, and returns the reason", () => {
  const byHand = controlPlane("b", { ...upgraded, isAnnounced: false });
  const { order, end } = upgradeOrder(
    surveyedUpgrade({ controlPlanes: [controlPlane("a"), byHand, controlPlane("c")] }),
  );
  deepEqual([order.map(({ controlPlane: { node } }) => node), end?.reason], [["a"], "ComponentsChanged"]);
});

Deno.test("upgradeOrder: terminates for hundreds of control planes, with the leader of etcd as the last one", () => {
  const controlPlanes = Array.from({ length: 300 }, (_, nth) => controlPlane(`cp-${nth}`, { isLeader: nth === 0 }));
  const { order } = upgradeOrder(surveyedUpgrade({ controlPlanes }));
  deepEqual([order.length, order.at(-1)?.controlPlane.node], [300, "cp-0"]);
});

/** Stories of upgrades of control planes to another version of Kubernetes, and of renewals of their certificates. */
import { eventually } from "../support/eventually.ts";
import { FakeRenewal } from "../support/fake_renewal.ts";
import { FakeUpgrade } from "../support/fake_upgrade.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

async function reported(upgrade: Pick<FakeUpgrade, "standing">, reason: string): Promise<void> {
  await eventually(reason, () => upgrade.standing.reason === reason);
}

/**
 * Stories by name: each starts a run, brings it to a point from which it ends without further input, and returns it.
 */
export const upgrades: Record<string, (stage: Stage) => Promise<Handle>> = {
  "in_order": async (stage) => await new FakeUpgrade().on(stage).start(stage) as unknown as Handle,
  "approved_late_halted_retried": async (stage) => {
    const upgrade = new FakeUpgrade().on(stage);
    const { version } = upgrade;
    upgrade.approved = "";
    upgrade.meet = (order) =>
      order === "Node c" ? { outcome: "Refused", reason: "KubeadmRefused", message: "no space left" } : undefined;
    const handle = await upgrade.start(stage);
    await reported(upgrade, "AwaitingApproval");
    upgrade.approved = version;
    await reported(upgrade, "UpgradeHalted");
    upgrade.meet = () => undefined;
    upgrade.retry = "1";
    return handle as unknown as Handle;
  },
  "drain_blocked_released_cancelled": async (stage) => {
    const upgrade = new FakeUpgrade().on(stage);
    upgrade.blockers = [{ pod: "default/web-1", owner: "Deployment default/web", why: "no disruption is allowed" }];
    const handle = await upgrade.start(stage);
    await reported(upgrade, "DrainBlocked");
    upgrade.version = "v1.36.2";
    upgrade.blockers = [];
    await reported(upgrade, "AwaitingApproval");
    await handle.cancel();
    return handle as unknown as Handle;
  },
};

/** Stories of renewals of certificates, in the same form as `upgrades`. */
export const certificates: Record<string, (stage: Stage) => Promise<Handle>> = {
  "in_order": async (stage) => await new FakeRenewal().on(stage).start(stage) as unknown as Handle,
  "inconclusive_halted_again": async (stage) => {
    const renewal = new FakeRenewal().on(stage);
    renewal.doubts = ["member y does not answer"];
    renewal.meet = (node) =>
      node === "c" ? { outcome: "Refused", reason: "RestartFailed", message: "etcd did not come up" } : undefined;
    const handle = await renewal.start(stage);
    await reported(renewal, "EtcdInDoubt");
    renewal.doubts = [];
    await renewal.start(stage);
    await reported(renewal, "RenewalHalted");
    Object.assign(renewal, { meet: () => undefined, setting: "1" });
    await renewal.start(stage);
    return handle as unknown as Handle;
  },
  "cancelled": async (stage) => {
    const renewal = new FakeRenewal().on(stage);
    renewal.plane("b").isReady = false;
    const handle = await renewal.start(stage);
    await reported(renewal, "ControlPlaneNotReady");
    await handle.cancel();
    return handle as unknown as Handle;
  },
};

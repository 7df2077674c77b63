/** The `ostler` command in a cluster of three control planes, whose NodeVersion "v" asks for a later Kubernetes. */
import assert from "node:assert/strict";
import { FakeWorld, readyStatus } from "./fake_world.ts";
import { current, desired, UpgradeStage } from "./upgrade_stage.ts";

/** The condition of a NodeVersion whose upgrade of Kubernetes waits for approval. */
export const awaiting = {
  ...{ type: "KubernetesUpgraded", status: "False", reason: "AwaitingApproval" },
  message:
    `Waiting for approval to upgrade 3 control planes, one at a time, from Kubernetes "${current}" to "${desired}"`,
};

/** A member of etcd, as the status of a Rollout has it. */
export type Seat = { name: string; role: string; machine?: string; isWell?: boolean };

export const seats: Seat[] = [{ name: "workers-1", role: "Leader" }, { name: "workers-2", role: "Voter" }, {
  ...{ name: "workers-3", role: "Voter" },
}];

export interface Given {
  condition?: object;
  etcd?: { seats?: Seat[]; quorum?: { needed: number; well: number }; doubts?: object[] } | null;
}

/** Runs `ostler` commands in a cluster of three control planes, of which "workers-1" leads etcd, and two workers. */
export class UpgradeWorld extends FakeWorld {
  readonly stage: UpgradeStage;

  constructor({ condition = awaiting, etcd = {} }: Given = {}) {
    const stage = new UpgradeStage();
    super(stage.kube);
    this.stage = stage;
    stage.worker("w-1", "v1.34.2");
    stage.worker("w-2", current);
    Object.assign(stage.kube.get("nodeversions", "v")?.["status"] ?? {}, { conditions: [condition] });
    this.reports(etcd);
  }

  /** Writes the Rollout of the control planes' group, with this state of etcd. */
  reports(etcd: Given["etcd"]): void {
    const whole = etcd && {
      ...{ quorum: { needed: 2, well: 3 }, doubts: [] },
      ...etcd,
      seats: (etcd.seats ?? seats).map((seat) => ({ isWell: true, version: "3.6.5", machine: seat.name, ...seat })),
    };
    const metadata = { namespace: "kube-system", name: "scaling-group.workers" };
    this.kube.put("rollouts", { metadata, status: readyStatus(whole ? { etcd: whole } : {}) });
  }

  /** Runs `ostler status` for the NodeVersion, and returns the lines that follow the tree of stages. */
  async lines(...flags: string[]): Promise<string[]> {
    const { code, out, err } = await this.run(["status", "nodeversion/v", ...flags]);
    assert.deepEqual([code, err], [0, ""]);
    return out.trimEnd().split("\n").slice(4);
  }
}

/** A machine that boots again, or runs its boot scripts again, is unchanged. */
import type { V1Lease, V1Pod } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { namesOf } from "../../profiles/mod.ts";
import type { Booted } from "./boot_pools.ts";
import { configDigests, output, shell, unitProperties } from "./machine_facts.ts";
import { certificateRequests, nodeOf } from "./node_identity.ts";
import { machineToken } from "./published_boot.ts";
import { checkUnits, untilBooted } from "./unit_states.ts";

/** The state that must not change. */
interface Identity {
  node: string | undefined;
  machine: string;
  hostname: string;
  addresses: unknown;
  /** Names of the kubelet's requests for certificates: a new one would be a new identity. */
  requests: (string | undefined)[];
  files: Record<string, string>;
}

/** Records what must be the same later. */
export async function identityOf(booted: Booted): Promise<Identity> {
  const { machine } = booted;
  const node = await nodeOf(booted);
  return {
    node: node.metadata?.uid,
    machine: (await output(machine, ["cat", "/etc/machine-id"])).trim(),
    hostname: (await output(machine, ["hostname"])).trim(),
    addresses: node.status?.addresses,
    requests: (await certificateRequests(booted)).map(({ metadata }) => metadata?.name).sort(),
    files: await configDigests(machine),
  };
}

/** Expects the same node with the same files after a reboot, and expects neither boot phase to run again. */
export async function checkSecondBoot(booted: Booted): Promise<void> {
  const before = await identityOf(booted);
  const container = await containerOf(booted);
  await booted.machine.reboot();
  // The kubelet's last status before the reboot does not count.
  await untilBack(booted, { since: Date.now(), container: container.id });
  for (const unit of ["bootstrap.service", "setup.service"]) {
    const { ConditionResult, ExecMainStartTimestampMonotonic } = await unitProperties(booted.machine, unit);
    assert.deepEqual({ ConditionResult, ExecMainStartTimestampMonotonic }, {
      ConditionResult: "no",
      ExecMainStartTimestampMonotonic: "0",
    });
  }
  for (const unit of ["containerd.service", "kubelet.service"]) {
    assert.equal((await unitProperties(booted.machine, unit)).ActiveState, "active", unit);
  }
  assert.equal(await output(booted.machine, ["systemctl", "--failed", "--plain", "--no-legend"]), "");
  assert.deepEqual(await identityOf(booted), before);
}

/**
 * Starts both phases by hand, without the files that mark them as done, and expects no second effect: a renamed host
 * gets its name back, and a running container continues.
 */
export async function checkSecondRun(booted: Booted): Promise<void> {
  const { world, machine, name, pool } = booted;
  const before = await identityOf(booted);
  const container = await containerOf(booted);
  await giveToken(booted, await machineToken(world, pool));
  await shell(machine, "hostname stray && rm /etc/ostler/bootstrap-complete /etc/ostler/setup-complete");
  await output(machine, ["systemctl", "restart", "bootstrap.service"]);
  await untilBooted(booted);
  await checkUnits(booted);
  assert.deepEqual(await identityOf(booted), before);
  assert.deepEqual(await containerOf(booted), container);
  const { bootReport } = namesOf({ namespace: "kube-system", name: pool });
  const report = await world.get<{ data?: object }>(`/api/v1/namespaces/cloud-init-settings/configmaps/${bootReport}`);
  assert.ok(!Object.hasOwn(report?.data ?? {}, name), "Expected no line in the boot report");
}

// Writes the token of the pool, because the first boot has deleted the machine's token.
async function giveToken({ machine }: Booted, token: string): Promise<void> {
  await machine.write("/etc/ostler/token", `${token}\n`);
  await output(machine, ["chmod", "600", "/etc/ostler/token"]);
}

/** Waits for new signs of life: the kubelet's lease, its node's condition, and the pod's container. */
async function untilBack(booted: Booted, { since, container }: { since: number; container: string }): Promise<void> {
  const { world, name, machine } = booted;
  await world.until(`machine "${name}" has booted`, async () => {
    return (await machine.run(["systemctl", "is-system-running"])).stdout.trim() === "running";
  }, 180);
  const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
  await world.until(`node "${name}" is back`, async () => {
    const renewed = (await world.get<V1Lease>(lease))?.spec?.renewTime;
    const { conditions } = (await nodeOf(booted)).status ?? {};
    const ready = conditions?.find(({ type, status }) => type === "Ready" && status === "True");
    const isNew = [renewed, ready?.lastHeartbeatTime].every((time) => Date.parse(String(time)) > since);
    const { id, isReady } = await containerOf(booted);
    return isNew && isReady && id !== container;
  }, 180);
}

/** The container of the machine's pod. */
async function containerOf({ world, name }: Booted): Promise<{ id: string; isReady: boolean }> {
  const pod = await world.get<V1Pod>(`/api/v1/namespaces/default/pods/${name}`);
  const [status] = pod?.status?.containerStatuses ?? [];
  return { id: status?.containerID ?? "", isReady: status?.ready === true };
}

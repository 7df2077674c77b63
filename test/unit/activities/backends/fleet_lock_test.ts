/** When a node that updates itself counts as updated, after it has released its FleetLock; the API server is in memory. */
import { equal } from "node:assert/strict";
import { LockRelease } from "../../../../activities/backends/node_pool/fleet_lock.ts";
import { readPoolNode } from "../../../../activities/backends/node_pool/pool_nodes.ts";
import { nodeUpdateSteps } from "../../../../activities/backends/node_pool/update_steps.ts";
import type { Updating } from "../../../../activities/backends/node_pool/orders.ts";
import type { BootVerdict } from "../../../../workflows/contracts/mod.ts";
import { poolOfNodePool } from "../../../../workflows/commands/node_pool.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

/** Shows a node without a lock that was granted in its boot "boot-1". */
function show(kube: FakeKube, { boot, ready, beat }: { boot: string; ready: string; beat: string }): void {
  const lastHeartbeatTime = new Date(`2026-01-01T00:00:${beat}Z`);
  kube.put("nodes", {
    metadata: { name: "w-1", uid: "uid-of-w-1", labels: { os: "coreos" }, creationTimestamp: "2026-01-01T00:00:00Z" },
    status: { conditions: [{ type: "Ready", status: ready, lastHeartbeatTime }], nodeInfo: { bootID: boot } },
  });
}

/** Returns the verdict about a node that is still shown as it was before its reboot, and then as `later`. */
async function verdictOf(later: Parameters<typeof show>[1]): Promise<BootVerdict["verdict"] | undefined> {
  const kube = new FakeKube();
  const spec = { nodeSelector: { matchLabels: { os: "coreos" } }, driver: "FleetLock" };
  kube.put("nodepools", { metadata: { namespace: "fleet", name: "edge", uid: "u" }, spec });
  show(kube, { boot: "boot-1", ready: "True", beat: "10" });
  const steps = nodeUpdateSteps({ kube: kube.client } as Updating);
  const update = { pool: poolOfNodePool("fleet", "edge"), machine: "w-1", image: "FleetLock/default" };
  const until = Date.now() + 2_000;
  const seen = inActivity(() => steps.awaitNodeBooted({ ...update, bootId: "boot-1", until }));
  setTimeout(() => show(kube, later), 500);
  const verdict = await seen;
  return "verdict" in verdict ? verdict.verdict : undefined;
}

Deno.test("FleetLock: a node that released its lock after its reboot is not Updated by the readiness of its previous boot", async () => {
  equal(await verdictOf({ boot: "boot-2", ready: "False", beat: "20" }), "NotReady");
  equal(await verdictOf({ boot: "boot-1", ready: "Unknown", beat: "10" }), "NotReady");
  equal(await verdictOf({ boot: "boot-2", ready: "True", beat: "20" }), "Updated");
});

Deno.test("FleetLock: a node that released its lock without a reboot is Updated once its kubelet has reported", async () => {
  equal(await verdictOf({ boot: "boot-1", ready: "True", beat: "20" }), "Updated");
});

Deno.test("FleetLock: the readiness of a node counts a minute after the release, if its kubelet is silent", async () => {
  const kube = new FakeKube();
  show(kube, { boot: "boot-1", ready: "True", beat: "10" });
  const node = await readPoolNode(kube.client, "w-1");
  const release = new LockRelease();
  const isHeard = async (now: number): Promise<boolean> =>
    node !== undefined && await release.isHeard(kube.client, node, { bootId: "boot-1", now });
  equal(await isHeard(0), false);
  equal(release.lookBy(59_999), 60_000);
  equal(await isHeard(59_999), false);
  equal(release.lookBy(60_000), undefined);
  equal(await isHeard(60_000), true);
});

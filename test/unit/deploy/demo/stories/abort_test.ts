import assert from "node:assert/strict";
import { Checklist } from "../../../../../deploy/local/demo/stories/checklist.ts";
import { checkTaints } from "../../../../../deploy/local/demo/stories/catalogue.ts";
import { Cluster } from "../../../../../deploy/local/demo/stories/cluster.ts";
import { Waits } from "../../../../../deploy/local/demo/waits.ts";
import type { ApiConnection } from "../../../../../deploy/local/stack/api_connection.ts";

const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** Returns a cluster whose only node has the next of these sets of taints at each read, and keeps the last set. */
function given(...looks: object[][]): { cluster: Cluster; checks: Checklist; waits: Waits } {
  let at = 0;
  const call = (): Promise<object> => {
    const taints = looks[Math.min(at++, looks.length - 1)];
    return Promise.resolve({ items: [{ metadata: { name: "pool-1" }, spec: { taints } }] });
  };
  const waits = new Waits();
  const cluster = new Cluster({ api: { call } as unknown as ApiConnection, waits });
  return { cluster, checks: new Checklist({ say: () => {} }), waits };
}

Deno.test("checkTaints: waits until kube-controller-manager removes the taint shortly after an uncordon", async () => {
  const { cluster, checks } = given([taint], [taint], []);
  await checkTaints({ cluster, checks });
  assert.deepEqual(checks.all.map(({ ok, detail }) => [ok, detail]), [[true, "[]"]]);
});

Deno.test("Cluster.settled: returns the last value that it read when the wanted value does not appear in time", async () => {
  const { cluster } = given([taint]);
  const look = async (): Promise<number> => (await cluster.list("/api/v1/nodes")).length;
  assert.equal(await cluster.settled("no node", { look, wanted: 0 }, 0.1), 1);
});

Deno.test("Cluster.settled: rejects with the reason when the demo ends", async () => {
  const { cluster, waits } = given([taint]);
  const look = async (): Promise<number> => (await cluster.list("/api/v1/nodes")).length;
  const waiting = cluster.settled("no node", { look, wanted: 0 });
  waits.end(new Error("Stopped by SIGINT"));
  await assert.rejects(waiting, /^Error: Stopped by SIGINT$/);
});

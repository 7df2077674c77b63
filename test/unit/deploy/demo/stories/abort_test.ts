import assert from "node:assert/strict";
import { Checklist } from "../../../../../deploy/local/demo/stories/checklist.ts";
import { checkTaints } from "../../../../../deploy/local/demo/stories/catalogue.ts";
import { Cluster } from "../../../../../deploy/local/demo/stories/cluster.ts";
import { Stage } from "../../../../../deploy/local/demo/stage.ts";
import type { ApiConnection } from "../../../../../deploy/local/stack/api_connection.ts";

const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

/** An API server whose only node shows these taints, one look after the other, the last for ever. */
function given(...looks: object[][]): { cluster: Cluster; checks: Checklist; stage: Stage } {
  let at = 0;
  const call = (): Promise<object> => {
    const taints = looks[Math.min(at++, looks.length - 1)];
    return Promise.resolve({ items: [{ metadata: { name: "pool-1" }, spec: { taints } }] });
  };
  const stage = new Stage();
  const cluster = new Cluster({ api: { call } as unknown as ApiConnection, stage });
  return { cluster, checks: new Checklist({ say: () => {} }), stage };
}

Deno.test("abort waits for the taint that kube-controller-manager takes back a moment after the cordon", async () => {
  const { cluster, checks } = given([taint], [taint], []);
  await checkTaints({ cluster, checks });
  assert.deepEqual(checks.all.map(({ ok, detail }) => [ok, detail]), [[true, "[]"]]);
});

Deno.test("Cluster.settled gives what was seen last where others do not do their part in time", async () => {
  const { cluster } = given([taint]);
  const look = async (): Promise<number> => (await cluster.list("/api/v1/nodes")).length;
  assert.equal(await cluster.settled("no node", { look, wanted: 0 }, 0.1), 1);
});

Deno.test("Cluster.settled ends when the demo does", async () => {
  const { cluster, stage } = given([taint]);
  const look = async (): Promise<number> => (await cluster.list("/api/v1/nodes")).length;
  const waiting = cluster.settled("no node", { look, wanted: 0 });
  stage.end(new Error("Stopped by SIGINT"));
  await assert.rejects(waiting, /^Error: Stopped by SIGINT$/);
});

/** FleetLock on a real API server and a real Temporal: nodes that ask as Zincati does. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { clientIdOf } from "../../activities/backends/node_pool/lock_client.ts";
import { ImageGround } from "../../deploy/local/cloud/image_nodes/image_ground.ts";
import { eventually } from "../support/eventually.ts";
import { withWorld } from "./world.ts";
import type { World } from "./world.ts";

const group = "/apis/ostler.dev/v1alpha1/namespaces/kube-system";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

async function cordonedIn(world: World): Promise<string[]> {
  const nodes = await world.list<{ metadata: { name: string }; spec: { unschedulable?: boolean } }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.unschedulable).map(({ metadata }) => metadata.name);
}

Deno.test({
  name:
    "nodes that update themselves get a lock one at a time, drained before, and a deleted holder's is free within a minute",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const port = await freePort();
    await using ground = new ImageGround({ nodes: 3, labels: { os: "coreos" }, booted: `sha256:${"a".repeat(64)}` });
    await withWorld({ settings: { OSTLER_FLEET_LOCK_ADDRESS: `127.0.0.1:${port}` } }, async (world) => {
      await ground.settle(world.site.stack.adminKubeconfig);
      await world.create(`${group}/nodepools`, {
        ...{ apiVersion: "ostler.dev/v1alpha1", kind: "NodePool" },
        metadata: { namespace: "kube-system", name: "coreos" },
        spec: { nodeSelector: { matchLabels: { os: "coreos" } }, driver: "FleetLock", fleetLock: { group: "default" } },
      });
      const ask = async (node: string, verb: "pre-reboot" | "steady-state", signal?: AbortSignal): Promise<number> => {
        const machineId = ground.nodes.get(node)?.machineId ?? "";
        const response = await fetch(`http://127.0.0.1:${port}/v1/${verb}`, {
          method: "POST",
          headers: { "fleet-lock-protocol": "true" },
          body: JSON.stringify({ client_params: { id: clientIdOf(machineId), group: "default" } }),
          ...(signal ? { signal } : {}),
        });
        await response.body?.cancel();
        return response.status;
      };
      const [one = "", two = "", three = ""] = [...ground.nodes.keys()];
      await eventually("the endpoint", async () => await ask(one, "steady-state").catch(() => 0) === 200, 60_000);
      assert.equal(await ask(one, "pre-reboot"), 200);
      assert.deepEqual(await cordonedIn(world), [one]);

      // One dies while it waits: it keeps its turn, and takes nobody's place.
      const dying = new AbortController();
      const second = ask(two, "pre-reboot", dying.signal).catch(() => 0);
      await new Promise((done) => setTimeout(done, 5_000));
      assert.deepEqual(await cordonedIn(world), [one]);
      dying.abort();
      assert.equal(await second, 0);

      assert.equal(await ask(one, "steady-state"), 200);
      await eventually("the next in turn", async () => (await cordonedIn(world)).join() === two, 60_000);
      assert.equal(await ask(two, "pre-reboot"), 200);

      const third = ask(three, "pre-reboot");
      const deletedAt = Date.now();
      await world.api.call({ method: "DELETE", path: `/api/v1/nodes/${two}` });
      ground.nodes.delete(two);
      assert.equal(await third, 200);
      assert.ok(Date.now() - deletedAt < 60_000, "the lock of a deleted node is free within a minute");
      assert.equal(await ask(three, "steady-state"), 200);
      await eventually("all in service", async () => (await cordonedIn(world)).length === 0, 60_000);
      const body = { method: "POST", headers: { "fleet-lock-protocol": "true" } };
      const unknown = JSON.stringify({ client_params: { id: "f".repeat(32), group: "default" } });
      const refused = await fetch(`http://127.0.0.1:${port}/v1/pre-reboot`, { ...body, body: unknown });
      assert.deepEqual([refused.status, (await refused.json() as { kind: string }).kind], [400, "unknown_client"]);
    });
  },
});

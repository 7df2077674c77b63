/** The FleetLock protocol, with requests in its format. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { rebootLocks } from "../../../activities/backends/registry.ts";
import { clientIdOf } from "../../../activities/backends/node_pool/fleet_lock.ts";
import { lockOf } from "../../../activities/backends/node_pool/lock.ts";
import { serveFleetLock } from "../../../workers/fleet_lock.ts";
import { FakeKube, type Stored } from "../../support/fake_kube.ts";

const machineId = "0123456789abcdef0123456789abcdef";

interface Setting {
  kube: FakeKube;
  ask: (verb: string, body: unknown, headers?: Record<string, string>) => Promise<{ code: number; kind?: string }>;
}

async function serving(use: (setting: Setting) => Promise<void>, wait = 100): Promise<void> {
  const kube = new FakeKube();
  kube.put("nodes", {
    metadata: { name: "n", uid: "u", labels: { os: "coreos" } },
    status: { nodeInfo: { machineID: machineId, bootID: "b" } },
  });
  kube.put("nodepools", {
    metadata: { namespace: "fleet", name: "coreos", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { nodeSelector: { matchLabels: { os: "coreos" } }, driver: "FleetLock", fleetLock: { group: "default" } },
  });
  const log = { warn: () => {} };
  const open = serveFleetLock({
    host: "127.0.0.1",
    port: freePort(),
    locks: rebootLocks(kube.client),
    log,
    patience: { wait, look: 10 },
  });
  ok(open);
  if (!open.listening) await new Promise((listening) => open.once("listening", listening));
  const { port } = open.address() as AddressInfo;
  const ask: Setting["ask"] = async (verb, body, headers = { "fleet-lock-protocol": "true" }) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const answer = await fetch(`http://127.0.0.1:${port}/v1/${verb}`, { method: "POST", headers, body: text });
    const said = await answer.text();
    return { code: answer.status, ...(said ? { kind: (JSON.parse(said) as { kind: string }).kind } : {}) };
  };
  try {
    await use({ kube, ask });
  } finally {
    open.closeAllConnections();
    await new Promise((closed) => open.close(closed));
  }
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

const client = { client_params: { id: clientIdOf(machineId), group: "default" } };

function lockNow(kube: FakeKube): ReturnType<typeof lockOf> {
  return lockOf(kube.get("nodes", "n")?.metadata.annotations as Record<string, string> | undefined);
}

function grant(kube: FakeKube): void {
  const node = kube.get("nodes", "n");
  const annotations = { "ostler.dev/fleet-lock": JSON.stringify({ ...lockNow(kube), held: 5, bootId: "b" }) };
  kube.put("nodes", { ...node, metadata: { ...node?.metadata, name: "n", annotations } });
}

Deno.test("clientIdOf: returns a distinct UUID of version 4 for each machine ID, and none for an invalid one", () => {
  const id = clientIdOf(machineId);
  match(id, /^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  equal(clientIdOf("01234567-89ab-cdef-0123-456789abcdef"), id);
  ok(clientIdOf(machineId.replace("0", "1")) !== id);
  deepEqual([clientIdOf(""), clientIdOf("xyz")], ["", ""]);
});

Deno.test("FleetLock: records a node that requests the lock, and answers 200 as soon as the node holds the lock; repeated requests change nothing", () =>
  serving(async ({ kube, ask }) => {
    deepEqual(await ask("pre-reboot", client), { code: 409, kind: "failed_lock" });
    const asked = lockNow(kube)?.asked ?? 0;
    ok(asked > 0);
    grant(kube);
    deepEqual([await ask("pre-reboot", client), await ask("pre-reboot", client)], [{ code: 200 }, { code: 200 }]);
    equal(lockNow(kube)?.asked, asked);
  }));

Deno.test("FleetLock: answers a waiting request of a node as soon as a newer one of the same node waits, so that a node occupies only one", () =>
  serving(async ({ kube, ask }) => {
    const first = ask("pre-reboot", client);
    while (lockNow(kube) === undefined) await pause(5);
    await pause(50); // the first request waits
    const second = ask("pre-reboot", client);
    deepEqual(await Promise.race([first, pause(1_000)]), { code: 409, kind: "failed_lock" });
    grant(kube);
    deepEqual(await second, { code: 200 });
  }, 2_000));

Deno.test("FleetLock: releases the lock of a node, and answers 200 also when the node holds no lock", () =>
  serving(async ({ kube, ask }) => {
    await ask("pre-reboot", client);
    grant(kube);
    deepEqual([await ask("steady-state", client), lockNow(kube)], [{ code: 200 }, undefined]);
    deepEqual(await ask("steady-state", client), { code: 200 });
  }));

Deno.test("FleetLock: records a requested lock, and releases it, each by a single HTTP request, despite concurrent writes by the kubelet", () =>
  serving(async ({ kube, ask }) => {
    let writes = 2;
    kube.onRequest = (request) => {
      if (request === "patch nodes n" && writes-- > 0) kube.put("nodes", kube.get("nodes", "n") as Stored);
    };
    deepEqual([await ask("pre-reboot", client), lockNow(kube)?.held], [{ code: 409, kind: "failed_lock" }, 0]);
    writes = 2;
    deepEqual([await ask("steady-state", client), lockNow(kube)], [{ code: 200 }, undefined]);
    writes = Infinity;
    deepEqual(await ask("pre-reboot", client), { code: 500, kind: "failed_lock" });
  }));

Deno.test("FleetLock: refuses a client without a node or of another group, and writes nothing", () =>
  serving(async ({ kube, ask }) => {
    const other = { client_params: { ...client.client_params, id: clientIdOf("f".repeat(32)) } };
    deepEqual(await ask("pre-reboot", other), { code: 400, kind: "unknown_client" });
    const group = { client_params: { ...client.client_params, group: "gpu" } };
    deepEqual(await ask("pre-reboot", group), { code: 400, kind: "wrong_group" });
    deepEqual([lockNow(kube), kube.writes], [undefined, []]);
  }));

Deno.test("FleetLock: refuses a node with a shared or a missing machine ID", () =>
  serving(async ({ kube, ask }) => {
    const found = kube.get("nodes", "n");
    kube.put("nodes", { ...found, metadata: { name: "clone", uid: "u2", labels: { os: "coreos" } } });
    deepEqual(await ask("pre-reboot", client), { code: 400, kind: "unknown_client" });
    kube.put("nodes", { ...found, metadata: { ...found?.metadata, name: "n" }, status: { nodeInfo: {} } });
    kube.put("nodes", { metadata: { name: "clone", uid: "u2" } });
    const unknown = { client_params: { ...client.client_params, id: "-".repeat(32) } };
    deepEqual(await ask("pre-reboot", unknown), { code: 400, kind: "unknown_client" });
    deepEqual(kube.writes, []);
  }));

Deno.test("FleetLock: refuses invalid requests, and writes nothing", () =>
  serving(async ({ kube, ask }) => {
    const bodies = [
      "",
      "no JSON",
      "[]",
      { ...client, more: 1 },
      { client_params: { id: "n", group: "default" } },
      "x".repeat(5000),
    ];
    for (const body of bodies) equal((await ask("pre-reboot", body)).kind, "bad_request");
    equal((await ask("pre-reboot", client, {})).kind, "bad_request");
    equal((await ask("reboot", client)).code, 404);
    deepEqual(kube.writes, []);
  }));

import type { KubeConfig, V1Lease } from "@kubernetes/client-node";
import { equal, ok, rejects } from "node:assert/strict";
import { readConfig } from "../../../workers/config.ts";
import { leadWhileHolding } from "../../../workers/leader.ts";
import { answer } from "../../support/fake_kube.ts";

/** An API server that knows one Lease. */
class LeaseServer {
  lease: V1Lease | undefined;
  writes = 0;
  isDown = false;

  get config(): KubeConfig {
    const api = {
      readNamespacedLease: () => this.#answer(() => this.lease ?? this.#absent()),
      createNamespacedLease: ({ body }: { body: V1Lease }) => this.#answer(() => this.#store(body)),
      replaceNamespacedLease: ({ body }: { body: V1Lease }) => this.#answer(() => this.#store(body)),
    };
    return { makeApiClient: () => api } as unknown as KubeConfig;
  }

  async #answer<T>(act: () => T): Promise<T> {
    await Promise.resolve();
    if (this.isDown) throw answer(503, "ServiceUnavailable");
    return act();
  }

  #absent(): never {
    throw answer(404, "NotFound");
  }

  #store(body: V1Lease): V1Lease {
    this.writes += 1;
    return this.lease = body;
  }
}

function lead(
  server: LeaseServer,
  signal: AbortSignal,
  work: (leading: AbortSignal) => Promise<void>,
  onStandby = (): void => {},
): Promise<void> {
  const log = { info: () => {}, warn: () => {} };
  return leadWhileHolding(server.config, { config: readConfig({}), log, signal, onStandby }, work);
}

Deno.test("leadWhileHolding leads at once where nobody holds the lease, until it is told to stop", async () => {
  const server = new LeaseServer();
  const stop = new AbortController();
  await lead(server, stop.signal, async (leading) => {
    ok(server.lease?.spec?.holderIdentity);
    stop.abort();
    equal(leading.aborted, true);
    await Promise.resolve();
  });
});

Deno.test("leadWhileHolding does not lead while another holds the lease", async () => {
  const server = new LeaseServer();
  server.lease = { spec: { holderIdentity: "another" } };
  const stop = new AbortController();
  let hasLed = false;
  const waiting = lead(server, stop.signal, () => Promise.resolve(void (hasLed = true)));
  await new Promise((resolve) => setTimeout(resolve, 1)); // one look is enough to be wrong
  stop.abort();
  await waiting;
  equal(hasLed, false);
  equal(server.writes, 0);
});

Deno.test("leadWhileHolding tells that another one leads, and nothing while nobody can be asked", async () => {
  for (const isDown of [false, true]) {
    const server = new LeaseServer();
    server.lease = { spec: { holderIdentity: "another" } };
    server.isDown = isDown;
    const stop = new AbortController();
    let told = 0;
    const waiting = lead(server, stop.signal, () => Promise.resolve(), () => told += 1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    stop.abort();
    await waiting;
    equal(told, isDown ? 0 : 1);
  }
});

Deno.test("leadWhileHolding takes a lease that was given back", async () => {
  const server = new LeaseServer();
  server.lease = { spec: { holderIdentity: "" } };
  const stop = new AbortController();
  await lead(server, stop.signal, () => Promise.resolve(stop.abort()));
  equal(server.writes >= 1, true);
});

Deno.test("leadWhileHolding passes on what its work fails with", async () => {
  const stop = new AbortController();
  const work = lead(new LeaseServer(), stop.signal, () => Promise.reject(new Error("no profiles")));
  await rejects(work, { message: "no profiles" });
  stop.abort();
});

import type { KubeConfig, V1Lease } from "@kubernetes/client-node";
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { readConfig } from "../../../workers/config.ts";
import { leadWhileHolding, LeaseLost } from "../../../workers/leader.ts";
import { exitCodeOf } from "../../../workers/run_process.ts";
import { answer } from "../../support/fake_kube.ts";

const times = { renew: 2, deadline: 30, leave: 10 };

/** An API server that knows one Lease. */
class LeaseServer {
  lease: V1Lease | undefined;
  writes = 0;
  isDown = false;
  /** Answers nothing at all, as an API server whose machine sleeps. */
  isFrozen = false;

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
    if (this.isFrozen) await new Promise(() => {});
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
  return leadWhileHolding(server.config, { config: readConfig({}), log, signal, onStandby, times }, work);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
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

for (const trouble of ["isDown", "isFrozen"] as const) {
  Deno.test(`leadWhileHolding leaves when the API server ${trouble}, in one sentence`, async () => {
    const server = new LeaseServer();
    const leaving = lead(server, new AbortController().signal, async (leading) => {
      server[trouble] = true;
      await untilAborted(leading);
    });
    await rejects(leaving, (error: Error) => {
      ok(error instanceof LeaseLost);
      match(error.message, /^Cannot go on as leader: Lease "ostler-system\/ostler-controller" could not be renewed/);
      equal(exitCodeOf(error), 75);
      return true;
    });
  });
}

Deno.test("leadWhileHolding leaves when another took the lease, also from work that hangs or fails of it", async () => {
  const works = [() => new Promise<void>(() => {}), async (leading: AbortSignal): Promise<void> => {
    await untilAborted(leading);
    throw new Error("cut off");
  }];
  for (const work of works) {
    const server = new LeaseServer();
    const leaving = lead(server, new AbortController().signal, (leading) => {
      server.lease = { spec: { holderIdentity: "another" } };
      return work(leading);
    });
    await rejects(leaving, LeaseLost);
    deepEqual(server.lease, { spec: { holderIdentity: "another" } });
  }
});

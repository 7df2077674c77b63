import type { KubeConfig, V1Lease } from "@kubernetes/client-node";
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { readConfig } from "../../../workers/config.ts";
import { leadWhileHolding, LeaseLost } from "../../../workers/leader.ts";
import { exitCodeOf } from "../../../workers/run_process.ts";
import { eventually } from "../../support/eventually.ts";
import { answer } from "../../support/fake_kube.ts";

const times = { renew: 2, deadline: 30, leave: 10 };

/** An API server that has one Lease. */
class LeaseServer {
  lease: V1Lease | undefined;
  reads = 0;
  writes = 0;
  isDown = false;
  /** Whether requests get no answer and no error, as from an API server on a suspended machine. */
  isFrozen = false;
  /** Milliseconds until the answer to each request. */
  delayMs = 0;

  get config(): KubeConfig {
    const api = {
      readNamespacedLease: () => this.#answer(() => this.#read()),
      createNamespacedLease: ({ body }: { body: V1Lease }) => this.#answer(() => this.#store(body)),
      replaceNamespacedLease: ({ body }: { body: V1Lease }) => this.#answer(() => this.#replace(body)),
    };
    return { makeApiClient: () => api } as unknown as KubeConfig;
  }

  async #answer<T>(act: () => T): Promise<T> {
    await Promise.resolve();
    if (this.isFrozen) await new Promise(() => {});
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    if (this.isDown) throw answer(503, "ServiceUnavailable");
    return act();
  }

  #read(): V1Lease {
    this.reads += 1;
    return this.lease ?? this.#absent();
  }

  #absent(): never {
    throw answer(404, "NotFound");
  }

  #replace(body: V1Lease): V1Lease {
    if (!this.lease) this.#absent();
    if (this.lease.metadata?.resourceVersion !== body.metadata?.resourceVersion) throw answer(409, "Conflict");
    return this.#store(body);
  }

  #store(body: V1Lease): V1Lease {
    this.writes += 1;
    return this.lease = { ...body, metadata: { ...body.metadata, resourceVersion: `${this.writes}` } };
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

Deno.test("leadWhileHolding: leads immediately when the lease is free, and stops when its AbortSignal aborts", async () => {
  const server = new LeaseServer();
  const stop = new AbortController();
  await lead(server, stop.signal, async (leading) => {
    ok(server.lease?.spec?.holderIdentity);
    stop.abort();
    equal(leading.aborted, true);
    await Promise.resolve();
  });
});

Deno.test("leadWhileHolding: does not lead while another process holds the lease", async () => {
  const server = new LeaseServer();
  server.lease = { spec: { holderIdentity: "another" } };
  const stop = new AbortController();
  let hasLed = false;
  const waiting = lead(server, stop.signal, () => Promise.resolve(void (hasLed = true)));
  // enough time for several reads of the Lease, so that a process that leads after a later read fails the test
  await new Promise((resolve) => setTimeout(resolve, 40));
  stop.abort();
  await waiting;
  equal(hasLed, false);
  equal(server.writes, 0);
});

Deno.test("leadWhileHolding: reports that another process leads, and nothing while the API is unreachable", async () => {
  for (const isDown of [false, true]) {
    const server = new LeaseServer();
    server.lease = { spec: { holderIdentity: "another" } };
    server.isDown = isDown;
    const stop = new AbortController();
    let told = 0;
    const waiting = lead(server, stop.signal, () => Promise.resolve(), () => {
      told += 1;
      stop.abort(); // the callback runs on every read that finds another leader, so the first call must stop it
    });
    if (isDown) setTimeout(() => stop.abort(), 1);
    await waiting;
    equal(told, isDown ? 0 : 1);
  }
});

Deno.test("leadWhileHolding: takes a released lease", async () => {
  const server = new LeaseServer();
  server.lease = { spec: { holderIdentity: "" } };
  const stop = new AbortController();
  await lead(server, stop.signal, () => Promise.resolve(stop.abort()));
  equal(server.writes >= 1, true);
});

Deno.test("leadWhileHolding: passes on the failure of its work", async () => {
  const stop = new AbortController();
  const work = lead(new LeaseServer(), stop.signal, () => Promise.reject(new Error("no profiles")));
  await rejects(work, { message: "no profiles" });
  stop.abort();
});

for (const trouble of ["isDown", "isFrozen"] as const) {
  Deno.test(`leadWhileHolding: fails with LeaseLost when it cannot renew the lease (API server: ${trouble})`, async () => {
    const server = new LeaseServer();
    const leaving = lead(server, new AbortController().signal, async (leading) => {
      server[trouble] = true;
      await untilAborted(leading);
    });
    await rejects(leaving, (error: Error) => {
      ok(error instanceof LeaseLost);
      match(error.message, /^Lost leadership: failed to renew Lease "ostler-system\/ostler-controller"/);
      equal(exitCodeOf(error), 75);
      return true;
    });
  });
}

Deno.test("leadWhileHolding: stops its work by the deadline after the last renewal, also during a pause between renewals", async () => {
  const server = new LeaseServer();
  const started = Date.now();
  let stopped = Infinity;
  const log = { info: () => {}, warn: () => {} };
  // A second pause would end long after the deadline.
  const slow = { renew: 2_000, deadline: 2_300, leave: 10 };
  const deps = { config: readConfig({}), log, signal: new AbortController().signal, times: slow };
  const leaving = leadWhileHolding(server.config, deps, async (leading) => {
    server.isDown = true;
    await untilAborted(leading);
    stopped = Date.now();
  });
  await rejects(leaving, LeaseLost);
  ok(stopped - started < 3_300, `Stopped after ${stopped - started} ms`);
});

Deno.test("leadWhileHolding: counts the first deadline from its request for the lease, not from the answer", async () => {
  const server = new LeaseServer();
  server.delayMs = 600;
  const started = Date.now();
  const log = { info: () => {}, warn: () => {} };
  const slow = { renew: 300, deadline: 1_500, leave: 10 };
  const deps = { config: readConfig({}), log, signal: new AbortController().signal, times: slow };
  const leaving = leadWhileHolding(server.config, deps, async (leading) => {
    server.isFrozen = true;
    await untilAborted(leading);
  });
  await rejects(leaving, LeaseLost);
  ok(Date.now() - started < 2_400, `Stopped after ${Date.now() - started} ms`);
});

Deno.test("leadWhileHolding: fails with LeaseLost when another process took the lease, even if the work hangs or fails", async () => {
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

Deno.test("leadWhileHolding: stops at once, not at its deadline, when it finds another process in the lease", async () => {
  const server = new LeaseServer();
  const log = { info: () => {}, warn: () => {} };
  const patient = { renew: 2, deadline: 600_000, leave: 10 };
  const deps = { config: readConfig({}), log, signal: new AbortController().signal, times: patient };
  const leaving = leadWhileHolding(server.config, deps, async (leading) => {
    server.lease = { spec: { holderIdentity: "another" } };
    await untilAborted(leading);
  });
  await rejects(leaving, {
    message: 'Lost leadership: another controller holds Lease "ostler-system/ostler-controller"',
  });
});

Deno.test("leadWhileHolding: stops its work by the deadline although the wall clock is set back", async () => {
  const server = new LeaseServer();
  const { now } = Date;
  try {
    const leaving = lead(server, new AbortController().signal, async (leading) => {
      server.isDown = true;
      Date.now = () => now() - 3_600_000;
      await untilAborted(leading);
    });
    await rejects(leaving, LeaseLost);
  } finally {
    Date.now = now;
  }
});

Deno.test("leadWhileHolding: renews its lease without reading it while no other client writes it", async () => {
  const server = new LeaseServer();
  const stop = new AbortController();
  await lead(server, stop.signal, async () => {
    await eventually("renewals", () => server.writes > 5);
    stop.abort();
  });
  equal(server.reads, 1);
});

Deno.test("leadWhileHolding: continues to lead when another client changes or deletes its lease", async () => {
  const server = new LeaseServer();
  const stop = new AbortController();
  const touches = [{ metadata: { resourceVersion: "of a stranger" } }, undefined];
  await lead(server, stop.signal, async (leading) => {
    for (const touched of touches) {
      server.lease = touched && { ...server.lease, ...touched };
      const { writes } = server;
      await eventually("the next renewals", () => server.writes > writes + 1);
    }
    equal(leading.aborted, false);
    stop.abort();
  });
  ok(server.lease?.spec?.holderIdentity);
});

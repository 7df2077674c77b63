/** Tests what every backend must do; each backend runs these tests with a pool of its own. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { ProfilePlace, With } from "../../../../activities/backends/contract.ts";
import type { PoolRef } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { Interruption } from "../../../support/interrupted.ts";

type Replacing = With<"orders">;

/** A pool and its environment, made anew for each test. */
export interface Scene {
  pool: PoolRef;
  place: ProfilePlace;
  /**
   * A new machine that does not boot before order `admit`, and the machine that it replaces if the backend needs one.
   */
  held: string;
  victim?: string;
  /** A Ready machine of the pool. */
  serving: { machine: string; node: string };
  /** A machine that is held, drained and being deleted. */
  leaving: { machine: string; node: string };
  /**
   * The orders that change nothing in this scene, because the new machine is only pending or the backend does not stamp
   * templates.
   */
  idle?: readonly string[];
  /** Returns the backend. With `interruption` one of its requests is interrupted, and each request calls `onCall`. */
  backend(interruption?: Interruption, onCall?: () => void): Replacing;
  /** Returns the state of all objects except Events as text; equal states give equal texts. */
  dump(): string;
  /** Deletes the pool and its machines. */
  clear(): void;
  /** Makes the API refuse, throttle, or reject as invalid every further request of the backend. */
  answerAll(with_: "Forbidden" | "Throttled" | "Invalid"): void;
}

type Act = (backend: Replacing, scene: Scene) => Promise<unknown>;

const orders: Record<string, Act> = {
  "admit": (backend, { pool, held, victim }) =>
    backend.orders.admit({ pool, machine: held, ...(victim === undefined ? {} : { victim }) }),
  "choose": (backend, { pool, serving: { machine } }) => backend.orders.choose({ pool, machine }),
  "spare": (backend, { pool, held }) => backend.spare({ pool, machine: held }),
  "spare (leaving machine)": (backend, { pool, leaving: { machine } }) => backend.spare({ pool, machine }),
  "spare (with release)": (backend, { pool, leaving: { machine } }) => backend.spare({ pool, machine, release: true }),
  "release": (backend, { pool, leaving }) => backend.orders.release({ pool, ...leaving }),
  "release (staying machine)": (backend, { pool, serving }) => backend.orders.release({ pool, ...serving }),
  "replace": (backend, { pool, serving }) => backend.orders.replace({ pool, ...serving }),
  "replace (with drain)": (backend, { pool, serving }) => backend.orders.replace({ pool, ...serving, drain: true }),
  "replace (held machine)": (backend, { pool, held }) => backend.orders.replace({ pool, machine: held }),
  "releaseAll": (backend, { pool }) => backend.releaseAll(pool),
  "restore": (backend, { pool, place }) => backend.restore({ pool, by: "ann", reason: "it does not boot" }, place),
  "stamp": async (backend, { pool }) => await backend.stamp?.({ pool, templateHash: "hash-2", configDigest: "digest" }),
};

const reads: Record<string, Act> = {
  "wanted": (backend, { pool, place }) => backend.wanted(pool, place),
  "observe": (backend, { pool }) => backend.observe(pool),
  "member": (backend, { pool, serving: { machine } }) => backend.member({ pool, machine }),
  "state": (backend, { pool, serving: { machine } }) => backend.state({ pool, machine }),
};

const moot = ["MachineGone", "GenerationStale"];
const sorted = { Forbidden: "AccessDenied", Throttled: "ApiUnavailable", Invalid: "ObjectInvalid" } as const;

function run(act: Act, scene: Scene, backend: Replacing): Promise<unknown> {
  return inActivity(() => act(backend, scene));
}

/** Returns the type of the failure, "" for none; rethrows a failure without a type. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "";
  } catch (error) {
    const { type } = error as { type?: string };
    if (type === undefined) throw error;
    return type;
  }
}

async function requestsOf(act: Act, scene: Scene): Promise<number> {
  let calls = 0;
  await run(act, scene, scene.backend({ at: Infinity, when: "before", then: "alive" }, () => void (calls += 1)));
  return calls;
}

/** Tests all promises of a backend; `make` returns a scene in its initial state. */
export function prove(name: string, make: () => Scene): void {
  for (const [verb, act] of Object.entries(orders)) {
    Deno.test(`${name}: ${verb} has the same effect when it is called twice as when it is called once`, async () => {
      const scene = make();
      const before = scene.dump();
      await run(act, scene, scene.backend());
      const once = scene.dump();
      await run(act, scene, scene.backend());
      equal(scene.dump(), once);
      if (!/staying|leaving/.test(verb) && !scene.idle?.includes(verb)) {
        ok(once !== before, "The verb changed nothing");
      }
    });

    for (const when of ["before", "after"] as const) {
      for (const then of ["dead", "alive"] as const) {
        Deno.test(`${name}: ${verb} has the same result when it is retried after an interruption ${when} each request in turn, with the process ${then}`, async () => {
          const whole = make();
          const requests = await requestsOf(act, whole);
          ok(requests > 0 || whole.idle?.includes(verb));
          for (let at = 0; at < requests; at++) {
            const scene = make();
            await failureOf(run(act, scene, scene.backend({ at, when, then })));
            await run(act, scene, scene.backend());
            equal(scene.dump(), whole.dump(), `interrupted at request ${at} of ${requests}`);
          }
        });
      }
    }
  }

  for (const [verb, act] of Object.entries({ ...orders, ...reads })) {
    Deno.test(`${name}: ${verb} succeeds, or fails as MachineGone or GenerationStale, for a deleted pool, and writes nothing`, async () => {
      const scene = make();
      scene.clear();
      const before = scene.dump();
      const type = await failureOf(run(act, scene, scene.backend()));
      ok(type === "" || moot.includes(type), type);
      equal(scene.dump(), before);
    });

    for (const [answered, type] of Object.entries(sorted)) {
      Deno.test(`${name}: ${verb} fails with ${type} when the API answers ${answered}`, async () => {
        const scene = make();
        scene.answerAll(answered as keyof typeof sorted);
        // A verb that sends no request cannot fail.
        const isAsked = !scene.idle?.includes(verb) || (await requestsOf(act, make())) > 0;
        equal(await failureOf(run(act, scene, scene.backend())), isAsked ? type : "");
      });
    }
  }

  for (const [verb, act] of Object.entries(reads)) {
    Deno.test(`${name}: ${verb} writes nothing, and returns the same twice`, async () => {
      const scene = make();
      const before = scene.dump();
      const first = await run(act, scene, scene.backend());
      deepEqual(await run(act, scene, scene.backend()), first);
      equal(scene.dump(), before);
    });
  }

  Deno.test(`${name}: observe returns held, leaving, chosen and unmarked machines`, async () => {
    const scene = make();
    const { pool, held, serving: { machine }, leaving } = scene;
    const backend = scene.backend();
    const member = async (id: string): Promise<object> => {
      const { phase, marked, held } = (await backend.observe(pool)).members.find((each) => each.id === id) ?? {};
      return { phase, marked, held };
    };
    deepEqual(await member(held), { phase: "Held", marked: false, held: true });
    deepEqual(await member(leaving.machine), { phase: "Leaving", marked: true, held: true });
    deepEqual(await member(machine), { phase: "Ready", marked: false, held: false });
    await backend.orders.choose({ pool, machine });
    deepEqual(await member(machine), { phase: "Ready", marked: true, held: true });
    await backend.spare({ pool, machine });
    deepEqual(await member(machine), { phase: "Ready", marked: false, held: false });
  });
}

/** What every backend promises, whatever it is: run it over a stage of its own. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { ProfilePlace, With } from "../../../../activities/backends/contract.ts";
import type { PoolRef } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { Interruption } from "../../../support/interrupted.ts";

type Replacing = With<"orders">;

/** A pool in a world of its own, made afresh for each question. */
export interface Stage {
  pool: PoolRef;
  place: ProfilePlace;
  /** A newcomer that waits to be admitted, and who goes for it where none comes without. */
  held: string;
  victim?: string;
  /** A member that serves. */
  serving: { machine: string; node: string };
  /** A member that leaves and is held, drained by now. */
  leaving: { machine: string; node: string };
  /** Verbs that have nothing to do here, as newcomers are paper or what is booted is the maker's own. */
  idle?: readonly string[];
  /** The backend, interrupted or not; `onCall` is told of each of its requests. */
  backend(interruption?: Interruption, onCall?: () => void): Replacing;
  /** All that stands, the same text for equal worlds; without what only tells of it, such as Events. */
  world(): string;
  /** Takes the pool and its machines away. */
  clear(): void;
  /** Answers every request of the backend from now on as one that is refused, throttled, or not valid. */
  answerAll(with_: "Forbidden" | "Throttled" | "Invalid"): void;
}

type Act = (backend: Replacing, stage: Stage) => Promise<unknown>;

const orders: Record<string, Act> = {
  "admit": (backend, { pool, held, victim }) =>
    backend.orders.admit({ pool, machine: held, ...(victim === undefined ? {} : { victim }) }),
  "choose": (backend, { pool, serving: { machine } }) => backend.orders.choose({ pool, machine }),
  "spare": (backend, { pool, held }) => backend.spare({ pool, machine: held }),
  "spare one that leaves": (backend, { pool, leaving: { machine } }) => backend.spare({ pool, machine }),
  "spare, releasing": (backend, { pool, leaving: { machine } }) => backend.spare({ pool, machine, release: true }),
  "release": (backend, { pool, leaving }) => backend.orders.release({ pool, ...leaving }),
  "release one that stays": (backend, { pool, serving }) => backend.orders.release({ pool, ...serving }),
  "replace": (backend, { pool, serving }) => backend.orders.replace({ pool, ...serving }),
  "replace, drained": (backend, { pool, serving }) => backend.orders.replace({ pool, ...serving, drain: true }),
  "replace one that is held": (backend, { pool, held }) => backend.orders.replace({ pool, machine: held }),
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

function run(act: Act, stage: Stage, backend: Replacing): Promise<unknown> {
  return inActivity(() => act(backend, stage));
}

/** The type of the failure, "" for none; a failure that is not sorted is thrown. */
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

async function requestsOf(act: Act, stage: Stage): Promise<number> {
  let calls = 0;
  await run(act, stage, stage.backend({ at: Infinity, when: "before", then: "alive" }, () => void (calls += 1)));
  return calls;
}

/** Proves all promises of a backend; `make` gives a stage in its first state. */
export function prove(name: string, make: () => Stage): void {
  for (const [verb, act] of Object.entries(orders)) {
    Deno.test(`${name}: ${verb} twice is ${verb} once`, async () => {
      const stage = make();
      const before = stage.world();
      await run(act, stage, stage.backend());
      const once = stage.world();
      await run(act, stage, stage.backend());
      equal(stage.world(), once);
      if (!/that stays|that leaves/.test(verb) && !stage.idle?.includes(verb)) {
        ok(once !== before, "it does something");
      }
    });

    for (const when of ["before", "after"] as const) {
      for (const then of ["dead", "alive"] as const) {
        Deno.test(`${name}: ${verb} interrupted ${when} any request, ${then} then, ends the same when it runs again`, async () => {
          const whole = make();
          const requests = await requestsOf(act, whole);
          ok(requests > 0 || whole.idle?.includes(verb));
          for (let at = 0; at < requests; at++) {
            const stage = make();
            await failureOf(run(act, stage, stage.backend({ at, when, then })));
            await run(act, stage, stage.backend());
            equal(stage.world(), whole.world(), `interrupted at request ${at} of ${requests}`);
          }
        });
      }
    }
  }

  for (const [verb, act] of Object.entries({ ...orders, ...reads })) {
    Deno.test(`${name}: ${verb} of what is gone is done, or moot, and writes nothing`, async () => {
      const stage = make();
      stage.clear();
      const before = stage.world();
      const type = await failureOf(run(act, stage, stage.backend()));
      ok(type === "" || moot.includes(type), type);
      equal(stage.world(), before);
    });

    for (const [answered, type] of Object.entries(sorted)) {
      Deno.test(`${name}: ${verb} that is answered ${answered} fails as "${type}"`, async () => {
        const stage = make();
        stage.answerAll(answered as keyof typeof sorted);
        // Who asks nobody fails at nothing.
        const isAsked = !stage.idle?.includes(verb) || (await requestsOf(act, make())) > 0;
        equal(await failureOf(run(act, stage, stage.backend())), isAsked ? type : "");
      });
    }
  }

  for (const [verb, act] of Object.entries(reads)) {
    Deno.test(`${name}: ${verb} writes nothing, and answers the same twice`, async () => {
      const stage = make();
      const before = stage.world();
      const first = await run(act, stage, stage.backend());
      deepEqual(await run(act, stage, stage.backend()), first);
      equal(stage.world(), before);
    });
  }

  Deno.test(`${name}: observe sees a newcomer held, one that leaves, and what is chosen and spared`, async () => {
    const stage = make();
    const { pool, held, serving: { machine }, leaving } = stage;
    const backend = stage.backend();
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

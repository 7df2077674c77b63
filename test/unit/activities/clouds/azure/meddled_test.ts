import { deepEqual, equal } from "node:assert/strict";
import type { Driver } from "../../../../../activities/clouds/driver.ts";
import { providerIdOf, settle, spec, truthOf, type World, worldOf } from "../../../../support/clouds/azure_world.ts";
import type { Befalls } from "../../../../support/driver_conformance.ts";

const group = spec.id;
const befalls: Befalls[] = ["CutBefore", "CutAfter", "Throttled", "Broken"];
const [first, stories, rounds] = [Number(Deno.env.get("SEED") ?? 1), 12, 8];

/** Returns a function that returns numbers from 0 to 1, the same sequence for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761 >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * The requested changes, each of which must happen once however often it is requested: three instances more, one less,
 * and one replaced.
 */
const verbs: ((driver: Driver) => Promise<unknown>)[] = [
  ...["a", "b", "c"].map((token) => (driver: Driver) => driver.order({ group, token })),
  (driver) => driver.remove({ group, providerId: providerIdOf(1), shrinks: true }),
  (driver) => driver.remove({ group, providerId: providerIdOf(2), shrinks: false }),
];

/** Lets another client, by chance, order an instance or delete one of its own; returns the change in size. */
function meddle({ cloud, stub }: World, random: () => number, theirs: string[]): number {
  const found = cloud.group(group)!;
  if (random() < 0.2) settle(cloud);
  if (random() < 0.4) {
    const { node } = cloud.order(found, `somebody-${cloud.instances().length}`);
    theirs.push(node.slice(node.lastIndexOf("-") + 1));
    return 1;
  }
  const id = random() < 0.3 ? theirs.shift() : undefined;
  if (id === undefined) return 0;
  stub.ground.delete(found, id);
  return -1;
}

async function story(world: World, random: () => number): Promise<number> {
  const drivers = await Promise.all([world.open(), world.open()]);
  const theirs: string[] = [];
  let more = 0;
  world.stub.fault = () => {
    // Other clients also change the size between any two calls of the drivers.
    more += meddle(world, () => random() + 0.15, theirs);
    return random() < 0.15 ? befalls[Math.floor(random() * befalls.length)] : undefined;
  };
  for (let round = 0; round < rounds; round++) {
    const tries = verbs.filter(() => random() < 0.5).map((verb) => verb(drivers[random() < 0.5 ? 0 : 1]!));
    for (const each of await Promise.allSettled(tries)) {
      if (each.status === "rejected") equal(each.reason.type, "ApiUnavailable", String(each.reason));
    }
    more += meddle(world, random, theirs);
  }
  world.stub.fault = () => undefined;
  for (const verb of verbs) await verb(drivers[0]!);
  return more;
}

for (let seed = first; seed < first + stories; seed++) {
  Deno.test(`K16, K22 openAzure: loses and duplicates no instance while other clients change the size, seed ${seed}`, async () => {
    await using world = worldOf({ groups: [{ ...spec, max: 90 }] });
    const more = await story(world, randomOf(seed));
    const { size, alive, tokens } = truthOf(world);
    deepEqual([size, alive, tokens.sort()], [2 + 3 - 1 + more, size, ["a", "b", "c"]]);
  });
}

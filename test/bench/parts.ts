/** The parts of the bench, in the order in which they run. */
import { measureAdmission } from "./admission.ts";
import { measureBacklog } from "./backlog.ts";
import { measureBurst } from "./burst.ts";
import type { Figure } from "./figure.ts";
import { measureFloor } from "./floor.ts";
import { measureEvents } from "./large_rollout.ts";
import { findPostgres, lendTemporal } from "../../deploy/local/stack/lent_temporal.ts";
import { measureMemory } from "./memory.ts";
import { measurePublish } from "./publish.ts";
import { measureReact } from "./react.ts";
import { measureRender } from "./render.ts";
import { measureTime } from "./rollout.ts";
import { measureStarts } from "./starts.ts";
import { ostlerOf, type Writer, writers } from "./writer.ts";

/** The sizes and repetitions of a run of the bench. */
export interface Sizes {
  /** The number of pools of each backlog, in ascending order. */
  pools: number[];
  /** Pools that are created concurrently while machine-controller runs. */
  burst: number;
  /** MachineDeployments that the webhook reviews. */
  admitted: number;
  /** Machines of one rollout. */
  machines: number;
  /** Repetitions for a median. */
  rounds: number;
}

export const usualSizes: Sizes = { pools: [100, 300, 1_000], burst: 200, admitted: 1_000, machines: 1_000, rounds: 20 };

/**
 * Functions by the name of the part; each returns the figures of its measurements, for one measured system after the
 * other.
 */
export const parts: Record<string, (sizes: Sizes) => Promise<Figure[]>> = {
  publish: ({ rounds }) => ofEach((writer) => measurePublish(writer, rounds)),
  backlog: ({ pools }) => ofEach((writer) => measureBacklog(writer, pools)),
  pair: ({ pools }) => measureBacklog(ostlerOf(2), [middleOf(pools)], { part: "backlog, two workers" }),
  postgres: ({ pools }) => measureOnPostgres(middleOf(pools)),
  floor: ({ pools, rounds }) => measureFloor({ sizes: pools, rounds }),
  burst: ({ burst }) => ofEach((writer) => measureBurst(writer, burst)),
  roll: async ({ machines }) => [...measureTime(machines), ...await measureEvents(machines)],
  react: () => measureReact(),
  start: ({ rounds }) => ofEach((writer) => measureStarts(writer, Math.min(rounds, 5))),
  admission: ({ admitted }) => measureAdmission(admitted),
  render: () => measureRender(),
  memory: () => measureMemory(),
};

/**
 * Measures the same as `backlog` and `floor` with Temporal on PostgreSQL; returns no figures if PostgreSQL is not
 * installed.
 */
async function measureOnPostgres(pools: number): Promise<Figure[]> {
  const postgres = await findPostgres();
  if (postgres === undefined) return [];
  const part = "backlog, PostgreSQL";
  const ofOstler = await measureBacklog(ostlerOf(1), [pools], { part, temporal: await lendTemporal(postgres) });
  const floor = await measureFloor({ sizes: [pools], rounds: 1, temporal: await lendTemporal(postgres) });
  return [...ofOstler, ...floor.filter((figure) => figure.part === "backlog").map((figure) => ({ ...figure, part }))];
}

function middleOf(sizes: readonly number[]): number {
  return sizes[Math.floor(sizes.length / 2)] ?? 0;
}

async function ofEach(measure: (writer: Writer) => Promise<Figure[]>): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const writer of writers()) figures.push(...await measure(writer));
  return figures;
}

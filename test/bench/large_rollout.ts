// deno-lint-ignore-file no-console -- this program prints its measurements
/** A rollout of a thousand machines in memory: events per run of the chain, and how fast `progress` is answered. */
import type { WorkflowExecutionInfo } from "@temporalio/client";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Stage } from "../support/workflow_stage.ts";
import { type Figure, figuresOf, quantile, type Row } from "./figure.ts";
import { historyOf, type HistorySize } from "./history.ts";

/** Maximum number of events in the history of any run of a chain. */
const limit = 10_000;

interface Rolled {
  replaced: number;
  seconds: number;
  /** History size of each run of the chain. */
  sizes: HistorySize[];
  /** CPU time of this process, which runs the worker and the pool in memory. */
  cpuSeconds: number;
  /** Milliseconds that answers to `progress` took. */
  answers: number[];
  violations: string[];
}

interface Size {
  replicas: number;
  budget: number;
  /** Number of zones of the machines; without it no node has a zone. */
  zones?: number;
}

/** Rolls out a pool in memory, changes its image, and measures and prints the rollout of that change. */
async function rollOver(stage: Stage, { replicas, budget, zones: many = 0 }: Size): Promise<Rolled> {
  const zones = Array.from({ length: many }, (_, nth) => `zone-${nth + 1}`);
  const pool = stage.pool({ replicas, surge: budget, bootMs: 3000, zones });
  await (await stage.rollOut(pool)).result();
  const before = new Set((await runsOf(stage, pool.holder)).map(({ runId }) => runId));
  pool.rules.budget.machines = budget;
  pool.change({ image: "image-2" });
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  // Uses the default deadlines, because with the short ones of tests the rollout would poll five times a second.
  const handle = await stage.rollOut(pool, { deadlines: {} });
  const asker = startAsker(stage.address, pool.holder);
  const { replaced } = await handle.result();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - start) / 1000;
  asker.kill("SIGKILL");
  const { stdout } = await asker.output();
  const answers = new TextDecoder().decode(stdout).trim().split("\n").filter(Boolean).map(Number);
  const runs = (await runsOf(stage, pool.holder)).filter(({ runId }) => !before.has(runId));
  const sizes: HistorySize[] = [];
  for (const { runId } of runs) sizes.push(await historyOf(stage.client, pool.holder, runId));
  const cpuSeconds = (user + system) / 1e6;
  return { replaced, seconds, sizes, cpuSeconds, answers, violations: pool.violations };
}

async function runsOf({ client }: Stage, workflowId: string): Promise<WorkflowExecutionInfo[]> {
  return await Array.fromAsync(client.workflow.list({ query: `WorkflowId = "${workflowId}"` }));
}

/** Starts another process for the queries, because this process is busy as the simulated cloud. */
function startAsker(address: string, holder: string): Deno.ChildProcess {
  const asker = fileURLToPath(new URL("ask_progress.ts", import.meta.url));
  return new Deno.Command(Deno.execPath(), { args: ["run", "--allow-all", asker, address, holder], stdout: "piped" })
    .spawn();
}

async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
  const stage = new Stage();
  await stage.open();
  return await work(stage).finally(() => stage.close());
}

/** The cost of replacing machines: one after the other in a pool of three, and fifty concurrently in a large one. */
export function measureEvents(machines: number): Promise<Figure[]> {
  return onStage(async (stage) => {
    const small = await rollOver(stage, { replicas: 3, budget: 1 });
    const large = await rollOver(stage, { replicas: machines, budget: Math.min(50, machines) });
    const each = ({ sizes, replaced }: Rolled, of: "events" | "actions"): number => {
      return sizes.reduce((sum, size) => sum + size[of], 0) / replaced;
    };
    const perMachine = (rolled: Rolled): Row[] => [
      ["events a machine", "each", each(rolled, "events")],
      ["actions a machine", "each", each(rolled, "actions")],
    ];
    return [
      ...figuresOf({ part: "roll", column: "Ostler", size: 3 }, perMachine(small)),
      ...figuresOf({ part: "roll", column: "Ostler", size: machines }, [
        ...perMachine(large),
        ["events of the longest run", "each", Math.max(...large.sizes.map(({ events }) => events))],
        ["bytes of the longest run", "MB", Math.max(...large.sizes.map(({ bytes }) => bytes)) / 1e6],
        ["CPU a machine, worker and cloud in memory", "ms", large.cpuSeconds * 1000 / large.replaced],
        ["answer to progress, p95", "ms", quantile(large.answers, 0.95)],
        ["broken promises", "each", large.violations.length],
      ]),
    ];
  });
}

function print({ replaced, seconds, sizes, answers, violations }: Rolled, budget: number): void {
  console.log(`${replaced} machines replaced in ${seconds.toFixed(0)} s, ${budget} at a time`);
  console.log(`events per run: ${sizes.map(({ events }) => events).join(", ")}; at most ${limit} are allowed`);
  console.log(`bytes per run: ${sizes.map(({ bytes }) => bytes).join(", ")}`);
  const [half, most, all] = [0.5, 0.95, 1].map((share) => Math.round(quantile(answers, share)));
  const told = `half within ${half} ms, 95 of 100 within ${most} ms, all within ${all} ms`;
  console.log(`answers to progress: ${answers.length}, ${told}`);
  console.log(`violations: ${violations.join("; ") || "none"}`);
}

if (import.meta.main) {
  const [replicas = 1000, budget = 50, zones = 0] = Deno.args.map(Number);
  const rolled = await onStage((stage) => rollOver(stage, { replicas, budget, zones }));
  print(rolled, budget);
  const isGood = rolled.sizes.every(({ events }) => events < limit) && rolled.violations.length === 0 &&
    quantile(rolled.answers, 0.95) < 1000;
  Deno.exit(isGood ? 0 : 1);
}

// deno-lint-ignore-file no-console -- printing what was measured is this program's job
/** A rollout of a thousand machines in memory: events per run of the chain, and how fast `progress` is answered. */
import { fileURLToPath } from "node:url";
import { Stage } from "../support/workflow_stage.ts";

const [replicas = 1000, budget = 50] = Deno.args.map(Number);

/** No run of a chain may have more events. */
const limit = 10_000;

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
}

const stage = new Stage();
await stage.open();
try {
  const pool = stage.pool({ replicas, surge: budget, bootMs: 3000 });
  await (await stage.rollOut(pool)).result();
  pool.rules.budget.machines = budget;
  pool.change({ image: "image-2" });
  const start = performance.now();
  const handle = await stage.rollOut(pool);
  // Somebody else asks: this process is busy with being the cloud.
  const asker = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      fileURLToPath(new URL("ask_progress.ts", import.meta.url)),
      stage.address,
      pool.holder,
    ],
    stdout: "piped",
  }).spawn();
  const result = await handle.result();
  asker.kill("SIGKILL");
  const { stdout } = await asker.output();
  const answers = new TextDecoder().decode(stdout).trim().split("\n").map(Number);
  const seconds = (performance.now() - start) / 1000;
  const events: number[] = [];
  for await (const run of stage.client.workflow.list({ query: `WorkflowId = "${pool.holder}"` })) {
    events.push(run.historyLength ?? 0);
  }
  console.log(`${result.replaced} machines replaced in ${seconds.toFixed(0)} s, ${budget} at a time`);
  console.log(`events per run: ${events.join(", ")}; at most ${limit} are allowed`);
  const [half, most, all] = [0.5, 0.95, 1].map((share) => quantile(answers, share));
  const told = `half within ${half} ms, 95 of 100 within ${most} ms, all within ${all} ms`;
  console.log(`answers to progress: ${answers.length}, ${told}`);
  console.log(`violations: ${pool.violations.join("; ") || "none"}`);
  const isGood = events.every((count) => count < limit) && pool.violations.length === 0 &&
    quantile(answers, 0.95) < 1000;
  if (!isGood) Deno.exitCode = 1;
} finally {
  await stage.close();
}
Deno.exit();

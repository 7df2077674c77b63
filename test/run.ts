// deno-lint-ignore-file no-console -- saying what passed and what failed is this program's job
/** Runs steps and groups of tests by name, and ends whatever they leave running. */
import { Children } from "./run/children.ts";
import { closingLine, nothing, oneFailed, total } from "./run/counts.ts";
import { groups, steps } from "./run/groups.ts";
import type { Step } from "./run/groups.ts";
import { filesOf, runGroup } from "./run/run_group.ts";
import type { Ending } from "./run/run_group.ts";

const children = new Children();

async function runStep(step: Step): Promise<Ending> {
  const { isSuccess, note } = await children.run(step);
  return { counts: isSuccess ? nothing : oneFailed, failures: [], note: note ?? "ok" };
}

/** Undefined when there is nothing to run under that name. */
async function runNamed(name: string, extra: string[]): Promise<Ending | undefined> {
  const step = steps[name];
  const group = groups[name];
  if (step === undefined && (group === undefined || filesOf(group).length === 0)) return undefined;
  console.log(`\n== ${name}`);
  if (step !== undefined) return await runStep(step);
  return group && await runGroup(group, { children, extra, say: (text) => console.log(text) });
}

async function runAll(names: string[], extra: string[]): Promise<number> {
  const endings: Ending[] = [];
  const table: string[] = [];
  for (const name of names) {
    if (children.isInterrupted) break;
    const start = performance.now();
    const ending = await runNamed(name, extra);
    if (ending === undefined) continue;
    endings.push(ending);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    table.push(`${name.padEnd(12)}${seconds.padStart(7)} s  ${ending.note}`);
  }
  await children.close();
  // Who sees only the end of a long log still learns what to look for.
  const failures = endings.flatMap((ending) => ending.failures).map((name) => `FAILED ${name}\n`);
  const counts = total(endings.map((ending) => ending.counts));
  console.log(`\n${table.join("\n")}\n\n${failures.join("")}${closingLine(counts)}`);
  if (children.isInterrupted) return 130;
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

async function main(args: string[]): Promise<number> {
  const first = args.findIndex((arg) => arg.startsWith("-"));
  const names = first < 0 ? args : args.slice(0, first);
  const extra = first < 0 ? [] : args.slice(first);
  const known = [...Object.keys(steps), ...Object.keys(groups)];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined || names.length === 0) {
    console.error(`Cannot run "${unknown ?? ""}": the groups are ${known.join(", ")}`);
    return 2;
  }
  return await runAll(names, names.includes("check") ? ["--no-check", ...extra] : extra);
}

function interrupt(): void {
  if (children.isInterrupted) return;
  console.error("interrupted: stopping what was started");
  children.interrupt();
}

if (import.meta.main) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupt);
  Deno.exit(await main(Deno.args));
}

// deno-lint-ignore-file no-console -- this program prints its measurements
/**
 * `deno task bench [PART…]`: measures, prints one table, and writes it with its numbers and a chart into a folder.
 * A short run: `deno task bench publish backlog --pools 30,100 --rounds 5`.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { chartOf } from "./chart.ts";
import { beside, type Figure, growths } from "./figure.ts";
import { parts, type Sizes, usualSizes } from "./parts.ts";
import { tableOf } from "./table.ts";
import { osmVariable } from "./writer.ts";

const usage = `Usage: deno task bench [${Object.keys(parts).join("] [")}]
  --pools 100,300,1000   pools of the backlogs
  --burst 200            pools created concurrently while machine-controller runs
  --admitted 1000        MachineDeployments that the webhook reviews
  --machines 1000        machines of a rollout
  --rounds 20            repetitions for a median
  --out bench-results    folder for bench.json, bench.md and bench.svg
${osmVariable} names a binary of Operating System Manager to measure beside Ostler.`;

interface Order {
  names: string[];
  sizes: Sizes;
  out: string;
}

/** Reads the command line; throws for invalid arguments. */
function orderOf(args: string[]): Order | undefined {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...{ pools: text, burst: text, admitted: text, machines: text, rounds: text, out: text },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  const unknown = positionals.find((name) => !(name in parts));
  if (unknown !== undefined) {
    throw new Error(`Failed to measure "${unknown}": parts are ${Object.keys(parts).join(", ")}`);
  }
  const numbers = (field: keyof Sizes): number[] => (values[field] ?? String(usualSizes[field])).split(",").map(whole);
  const one = (field: Exclude<keyof Sizes, "pools">): number => numbers(field)[0] ?? usualSizes[field];
  return {
    names: positionals.length > 0 ? positionals : Object.keys(parts),
    sizes: {
      pools: numbers("pools").toSorted((a, b) => a - b),
      ...{ burst: one("burst"), admitted: one("admitted"), machines: one("machines"), rounds: one("rounds") },
    },
    out: values.out ?? "bench-results",
  };
}

function whole(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`Failed to measure "${text}" pools or machines: must be a whole number above 0`);
}

async function measureAll({ names, sizes }: Order): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of names) {
    const begun = performance.now();
    console.error(`measuring ${name}`);
    // A failed part does not stop the others.
    const measured = await parts[name]?.(sizes).catch((error: unknown) => {
      console.error(`Failed to measure ${name}:`, error);
      process.exitCode = 1;
    });
    figures.push(...measured ?? []);
    console.error(`measured ${name} in ${Math.round((performance.now() - begun) / 1000)} s`);
  }
  return beside(figures);
}

function machineText(): string {
  const cores = `${availableParallelism()} cores (${cpus()[0]?.model.trim()})`;
  return `${cores}, ${Math.round(totalmem() / 2 ** 30)} GiB, Deno ${Deno.version.deno}`;
}

async function write(out: string, figures: Figure[]): Promise<void> {
  const machine = machineText();
  const measured = new Date().toISOString();
  const grown = figures.map((figure) => ({ ...figure, growth: growths(figures, figure) }));
  const files = {
    "bench.json": `${JSON.stringify({ machine, measured, figures: grown }, undefined, 2)}\n`,
    "bench.md": `${tableOf(figures)}\n\n${machine}, ${measured}\n`,
    "bench.svg": chartOf(figures, `${machine}, ${measured}`),
  };
  await mkdir(out, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(out, name), content);
}

async function main(order: Order): Promise<void> {
  const hasOsm = Boolean(process.env[osmVariable]);
  if (!hasOsm) console.error(`${osmVariable} names no binary: nothing is measured beside Ostler`);
  const figures = await measureAll(order);
  console.log(`${tableOf(figures)}\n\n${machineText()}${hasOsm ? "" : "; Operating System Manager was not measured"}`);
  await write(order.out, figures);
}

// The Temporal SDK would catch these signals and let the process continue; all child processes end with this process.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
try {
  const order = orderOf(process.argv.slice(2));
  if (order === undefined) console.log(usage);
  else await main(order);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
// The native part of the SDK would keep the process running.
process.exit();

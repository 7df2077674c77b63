/**
 * How long processes take from their start until they report to be ready, with everything cached, and how long users
 * wait for the command `ostler`. Run directly, it prints its rows:
 *
 *     deno run -A test/bench/starts.ts 5
 */
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { type Figure, figuresOf, median, type Row } from "./figure.ts";
import { type Ground, onGround } from "./ground.ts";
import { MomentWatch } from "./moment_watch.ts";
import { createNumbered } from "./numbered_pools.ts";
import { publishedSecrets, secretsOf } from "./published_pools.ts";
import { printAlone } from "./table.ts";
import { type Writer, writers } from "./writer.ts";

const plugin = fileURLToPath(new URL("../../cli/kubectl-ostler", import.meta.url));
/** Number of pools that `ostler status` shows. */
const pools = 20;

/** Measures repeated starts of each process, and for Ostler also repeated runs of the command `ostler`. */
export function measureStarts(writer: Writer, rounds: number): Promise<Figure[]> {
  return onGround({}, async (ground) => {
    const start = await writer.prepare(ground);
    const names = await createNumbered(ground.api, pools);
    using watch = await MomentWatch.open(ground.stack.adminKubeconfig, publishedSecrets);
    const processes = Object.entries(await start());
    await watch.all(secretsOf(names), 120);
    const rows: Row[] = [];
    for (const [name, each] of processes) {
      const what = `${name === "osm" ? "worker" : name}, start to ready`;
      rows.push([what, "s", await timed(rounds, () => restart(each))]);
    }
    for (const words of writer.name === "Ostler" ? [["--help"], ["status", "-A"]] : []) {
      rows.push([`ostler ${words.join(" ")}`, "s", await timed(rounds, () => command(ground, words))]);
    }
    return figuresOf({ part: "start", column: writer.name }, rows);
  });
}

/** The median of the reported durations, in seconds. */
async function timed(rounds: number, work: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let nth = 0; nth < rounds; nth++) times.push(await work());
  return median(times);
}

async function restart(process: SupervisedProcess): Promise<number> {
  await process.stop();
  const begun = performance.now();
  await process.start();
  return (performance.now() - begun) / 1000;
}

async function command({ stack }: Ground, words: string[]): Promise<number> {
  const env = {
    ...process.env,
    ...{ DENO: process.execPath, KUBECONFIG: stack.adminKubeconfig, TEMPORAL_ADDRESS: stack.temporal.address },
    TEMPORAL_CONFIG_FILE: "/dev/null",
  };
  const begun = performance.now();
  await promisify(execFile)(plugin, words, { env });
  return (performance.now() - begun) / 1000;
}

if (import.meta.main) {
  const [rounds = 5] = Deno.args.map(Number);
  await printAlone(writers(), (writer) => measureStarts(writer, rounds));
}

/**
 * Memory of a pod with the worst profiles: six rendering processes, which is the maximum, beside the peak of a worker.
 * Needs root and cgroups; measures nothing elsewhere.
 */
import { fileURLToPath } from "node:url";
import { leanEnvironment } from "../../deploy/local/site/ostler_processes.ts";
import { type Figure, figuresOf } from "./figure.ts";
import { noLimitBecause, runWithin } from "./memory_cgroup.ts";
import { printAlone } from "./table.ts";

/** Peak memory of a worker while 300 pools are published, as measured by the part `backlog`. */
const workerPeakMiB = 440;
/** Memory limit of a pod, as in the chart. */
const limitMiB = 2_560;

const cases: { name: string; what: string; besideMiB: number }[] = [
  { name: "large", what: "worker: six of the largest profiles at once", besideMiB: workerPeakMiB },
  { name: "text", what: "worker: six profiles that each make a huge text", besideMiB: workerPeakMiB },
  { name: "heap", what: "worker: six profiles that allocate without end", besideMiB: workerPeakMiB },
  { name: "reviews", what: "webhook: eleven huge profiles that allocate without end", besideMiB: 0 },
];

/** Measures the peak memory of each case, and how many processes the kernel killed. */
export async function measureMemory(): Promise<Figure[]> {
  if (noLimitBecause !== undefined) return [];
  const figures: Figure[] = [];
  for (const { name, what, besideMiB } of cases) {
    const module = fileURLToPath(new URL("./memory_worst.ts", import.meta.url));
    const args = ["run", "--allow-all", "--no-check", module, name, `${besideMiB}`];
    const { peakMiB, killed, code, text } = await runWithin(limitMiB, { args, env: leanEnvironment });
    if (code !== 0) throw new Error(`Failed to measure "${name}": it ended with ${code}: ${text.slice(-500)}`);
    figures.push(...figuresOf({ part: "memory", column: "Ostler" }, [
      [`${what}, peak`, "MiB", peakMiB],
      [`${what}, ended by the kernel`, "", killed],
    ]));
  }
  return figures;
}

if (import.meta.main) await printAlone([undefined], measureMemory);

/** Gates that are asked, of a machine or of a wave, so that the next run of a chain goes on with them. */
import type { AskedGates } from "../contracts/mod.ts";
import type { Machines } from "./machines.ts";
import type { Task } from "./tasks.ts";
import type { Waves } from "./waves.ts";

interface Asked {
  readonly machines: Machines;
  readonly waves: Waves;
}

/** What is asked about the subject of a task. */
export function askedGatesOf({ machines, waves }: Asked, { kind, subject }: Readonly<Task>): AskedGates | null {
  return kind === "gates" ? waves.gates : of(machines, { kind, subject })?.gates ?? null;
}

/** Notes what is asked about it; null for nothing. */
export function noteAskedGates({ machines, waves }: Asked, { kind, subject }: Task, asked: AskedGates | null): void {
  if (kind === "gates") return void (waves.gates = asked);
  const boot = of(machines, { kind, subject });
  if (!boot) return; // its change was left
  delete boot.gates;
  if (asked) boot.gates = asked;
}

function of(
  { booting, updating }: Machines,
  { kind, subject }: Pick<Task, "kind" | "subject">,
): { gates?: AskedGates } | undefined {
  return kind === "update" ? updating[subject] : booting[subject];
}

/** Those that could not be judged, also where their task has not begun again. */
export function gatesInDoubt({ machines, waves }: Asked, promoted: string): AskedGates[] {
  const asked = [...Object.values(machines.booting), ...Object.values(machines.updating)];
  const all = [...asked.map(({ gates }) => gates), waves.gates];
  return all.filter((asked) =>
    asked !== null && asked !== undefined && !["", promoted].includes(asked.doubt)
  ) as AskedGates[];
}

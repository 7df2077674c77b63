/** Random pools: a seed determines a pool, a policy, and events during its rollout; each pool must converge. */
import type { Gate } from "../../../../../workflows/contracts/mod.ts";
import { chanceFrom } from "./chance.ts";
import type { Chance } from "./chance.ts";
import { approve, approveWave, change, pause, recover, remove, restart, rollBack, scale, sicken } from "./events.ts";
import { minute, start } from "./play.ts";
import type { Case } from "./play.ts";

type Script = NonNullable<Case["script"]>;

/** Returns the pool of a seed. */
export function poolOf(seed: number): Case {
  const chance = chanceFrom(seed * 7919 + 1);
  const replicas = chance(0, 19) === 0 ? chance(15, 40) : chance(0, 9);
  const script = scriptOf(chance, replicas);
  const rules = rulesOf(chance, replicas);
  // A machine fails only in scripts where every created machine has the new template, because the planner ignores
  // failures of old machines.
  const { fails, gateFails } = failuresOf(chance, script.isWatched ? replicas : Infinity);
  return {
    replicas,
    surge: pick(chance, [0, 1, 1, 2, 3, 5]),
    ...{ zones: pick(chance, [[], [], ["a", "b"], ["a", "b", "c"]]), budget: budgetOf(chance) },
    ...{ fails, gateFails, unmarked: chance(0, 4) === 0, unchosen: true },
    rules: rules.rules,
    // The expected waves only hold for a constant number of replicas.
    ...(rules.waves && script.isSteady ? { waves: rules.waves } : {}),
    ...(rules.word ? { word: rules.word } : {}),
    script: script.script,
    template: script.template,
  };
}

function pick<T>(chance: Chance, from: readonly [T, ...T[]]): T {
  return from[chance(0, from.length - 1)] ?? from[0];
}

function budgetOf(chance: Chance): NonNullable<Case["budget"]> {
  return {
    machines: pick<number | string>(chance, [1, 1, 2, 3, 8, "25%", "100%"]),
    perZone: pick<number | string | null>(chance, [null, null, null, 1, 2, "20%"]),
    zones: pick(chance, ["Parallel", "Parallel", "OneAfterAnother"]),
  };
}

interface Policy {
  rules: NonNullable<Case["rules"]>;
  waves: Case["waves"];
  word?: NonNullable<Case["word"]>;
}

function rulesOf(chance: Chance, replicas: number): Policy {
  const waves = wavesOf(chance, replicas);
  const gates: Gate[] = chance(0, 2) > 0 ? [] : [{
    ...{ name: "g", run: "EachWave", within: minute },
    check: { kind: "NodeCondition", type: "Ready", status: "True" },
  }];
  const windows = chance(0, 5) > 0 ? null : Array.from({ length: 80 }, (_, nth) => {
    return { from: start + nth * 40 * minute, to: start + (nth * 40 + 20) * minute };
  });
  const approval = pick(chance, ["Never", "Never", "Never", "BeforeFirst", "BeforeEachWave"] as const);
  const word = approval === "BeforeFirst" ? approve : approveWave;
  const asked = approval === "Never" ? {} : { word: { first: chance(0, 60), every: 45, act: word } };
  return { rules: { ...(waves ? { waves } : {}), gates, windows, approval }, waves, ...asked };
}

function wavesOf(chance: Chance, replicas: number): Case["waves"] {
  if (chance(0, 2) === 0) return undefined;
  const most = Math.max(1, replicas);
  const sizes = new Set([...Array.from({ length: chance(1, 3) }, () => chance(1, most)), most]);
  return [...sizes].sort((a, b) => a - b).map((upTo) => ({ upTo, soak: chance(0, 20) * minute }));
}

// At most one machine fails to join and one fails its gates, so the attempts that `Run` allows always suffice.
function failuresOf(chance: Chance, replicas: number): Required<Pick<Case, "fails" | "gateFails">> {
  const nth = (): number => chance(0, 2) === 0 ? replicas + chance(1, replicas + 3) : -1;
  const [failing, bad] = [nth(), nth()];
  return { fails: (each) => each === failing, gateFails: (each) => each === bad };
}

function scriptOf(
  chance: Chance,
  replicas: number,
): { script: Script; template: string; isSteady: boolean; isWatched: boolean } {
  const script: Script = [];
  const at = (): number => chance(0, 600) / 10;
  const some = (): string => `A${chance(1, Math.max(1, replicas))}`;
  if (chance(0, 2) === 0) script.push(...Array.from({ length: chance(1, 4) }, (): Script[number] => [at(), restart]));
  if (chance(0, 4) === 0) script.push([at(), pause(true)], [100 + at(), pause(false)]);
  const isIll = chance(0, 4) === 0;
  if (isIll) script.push(...illness(chance, at(), some()));
  const isRemoved = chance(0, 6) === 0;
  if (isRemoved) script.push([at(), remove(some())]);
  const isScaled = chance(0, 4) === 0;
  if (isScaled) script.push([at(), scale(chance(0, replicas + 4))]);
  const turned = pick(chance, ["B", "B", "B", "C", "A", "back"] as const);
  if (turned === "C" || turned === "A") script.push([at(), change(turned)]);
  if (turned === "back") script.push([at(), rollBack]);
  const template = turned === "back" ? "A" : turned;
  const isSteady = !isScaled && !isRemoved && turned === "B";
  return { script, template, isSteady, isWatched: isSteady && !isIll };
}

function illness(chance: Chance, at: number, machine: string): Script {
  return chance(0, 1) === 0 ? [[at, sicken(machine)]] : [[at, sicken(machine)], [at + chance(1, 30), recover(machine)]];
}

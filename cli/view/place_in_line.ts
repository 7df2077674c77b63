import type { RolloutPlan } from "../../workflows/contracts/mod.ts";
import { clock, range } from "./durations.ts";

/** Where a machine stands in the line of those to be replaced: "It is 7th in line, in wave 2 of 3, at about 14:05.". */
export function placeInLine({ waves, seconds, machines }: RolloutPlan, machine: string, now: number): string {
  const wave = waves.findIndex((one) => one.machines.includes(machine));
  const total = waves.reduce((sum, { size }) => sum + size, 0);
  if (wave < 0) return machines > 0 && total > 0 ? "Its place in line is not known yet." : "";
  const before = waves.slice(0, wave).reduce((sum, { size }) => sum + size, 0);
  const position = before + (waves[wave]?.machines.indexOf(machine) ?? 0) + 1;
  const when = position === 1 ? ", next" : whenText(seconds, (position - 1) / total, now);
  return `It is ${ordinal(position)} of ${total} in line, in wave ${wave + 1} of ${waves.length}${when}.`;
}

// Evenly spread over the predicted time: soaks make that rough, so the hour is "about".
function whenText(seconds: RolloutPlan["seconds"], share: number, now: number): string {
  if (seconds === null) return "; when that is cannot be told yet";
  const [early, late] = [seconds.low * share, seconds.high * share];
  const at = now + (early + late) / 2 * 1000;
  return `, at about ${clock(at, now)} (in ${range({ low: early, high: late })}) if nothing holds it up`;
}

/** "1st", "2nd", "23rd". */
export function ordinal(count: number): string {
  const ending = count % 100 >= 11 && count % 100 <= 13 ? "th" : ["th", "st", "nd", "rd"][count % 10] ?? "th";
  return `${count}${ending}`;
}

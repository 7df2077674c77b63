import type { MachineLife } from "../../observer/machine_lives.ts";
import { pool } from "../pool_objects.ts";

/** Returns the hash of a machine's template, which is the middle part of its name. */
function templateHashOf(machine: string): string {
  return machine.slice(pool.name.length + 1).split("-")[0] ?? "";
}

/** Returns the machines that got an instance, oldest first, except those with the template of a machine in `before`. */
export function newcomers(lives: readonly MachineLife[], before: readonly string[]): Ordered[] {
  const known = new Set(before.map(templateHashOf));
  return lives.filter((life): life is Ordered => life.orderedAt !== undefined && !known.has(templateHashOf(life.name)));
}

/** A machine that has or had an instance. */
export type Ordered = MachineLife & { orderedAt: string };

/** Returns the names of machines that were once Ready and still have an instance. */
export function livingOf(lives: readonly MachineLife[]): string[] {
  return lives.filter(({ readyAt, goneAt }) => readyAt !== undefined && goneAt === undefined).map(({ name }) => name);
}

/** Returns those of `names` whose machine no longer has its instance. */
export function lostOf(lives: readonly MachineLife[], names: readonly string[]): string[] {
  return lives.filter(({ name, goneAt }) => names.includes(name) && goneAt !== undefined).map(({ name }) => name);
}

/** Returns the milliseconds from one RFC 3339 time to another; NaN if one is missing. */
export function between(from: string | undefined, to: string | undefined): number {
  return Date.parse(to ?? "") - Date.parse(from ?? "");
}

import type { MachineLife } from "../../observer/machine_lives.ts";
import { pool } from "../pool_objects.ts";

/** The hash of the template that a machine was made from: the middle of its name. */
export function templateHashOf(machine: string): string {
  return machine.slice(pool.name.length + 1).split("-")[0] ?? "";
}

/** Machines that got an instance and were made from another template than these, in the order of their orders. */
export function newcomers(lives: readonly MachineLife[], before: readonly string[]): Ordered[] {
  const known = new Set(before.map(templateHashOf));
  return lives.filter((life): life is Ordered => life.orderedAt !== undefined && !known.has(templateHashOf(life.name)));
}

/** A machine that had an instance. */
export type Ordered = MachineLife & { orderedAt: string };

/** The names of machines that were Ready once and have an instance still. */
export function livingOf(lives: readonly MachineLife[]): string[] {
  return lives.filter(({ readyAt, goneAt }) => readyAt !== undefined && goneAt === undefined).map(({ name }) => name);
}

/** Which of these lost their instance. */
export function lostOf(lives: readonly MachineLife[], names: readonly string[]): string[] {
  return lives.filter(({ name, goneAt }) => names.includes(name) && goneAt !== undefined).map(({ name }) => name);
}

/** Milliseconds from one RFC 3339 time to another; NaN when one is missing. */
export function between(from: string | undefined, to: string | undefined): number {
  return Date.parse(to ?? "") - Date.parse(from ?? "");
}

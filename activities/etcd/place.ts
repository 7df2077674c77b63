/**
 * Finds the etcd member of a machine. If etcd does not respond, returns that the member is unknown, never that etcd
 * runs on other machines. Pure.
 */
import type { EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { memberAt } from "./judge.ts";

/** The addresses and node by which members are matched. */
export interface Machine {
  addresses: readonly string[];
  node: string;
}

/**
 * The member of a machine. Absent: the machine has none, and every member runs on another machine. Outside: no member
 * runs on any of the machines. Unknown: cannot be determined, for the given reason.
 */
export type Place = { member: EtcdMember } | "Absent" | "Outside" | { unknown: string };

/**
 * Returns the etcd member of `machine`, if any; `all` are the machines that could run members, with or without
 * `machine`.
 */
export function placeOf(survey: EtcdSurvey, machine: Machine, all: readonly Machine[]): Place {
  const { members, silence } = survey;
  if (silence !== undefined) return { unknown: silence };
  if (members.length === 0) return { unknown: "etcd reports no members" };
  const found = memberAt(survey, machine);
  if (found === "Ambiguous") return { unknown: "several etcd members have the machine's address or name" };
  if (found) return { member: found };
  const known = new Set(all.map((each) => memberAt(survey, each)).filter((each) => each !== "Ambiguous"));
  if (members.every((member) => !known.has(member))) return "Outside";
  const stranger = members.find((member) => !known.has(member));
  return stranger ? { unknown: `etcd member "${stranger.name || stranger.id}" does not match any machine` } : "Absent";
}

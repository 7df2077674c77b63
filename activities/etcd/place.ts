/** Where a machine stands in an etcd, told with care: an etcd that is not seen is not one that runs elsewhere. Pure. */
import type { EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { memberAt } from "./judge.ts";

/** A machine by what members are told by. */
export interface Machine {
  addresses: readonly string[];
  node: string;
}

/**
 * Its member. Absent: it is none, and every member is some other machine's. Outside: etcd runs on none of the machines. Unknown:
 * nobody can tell, for the reason given.
 */
export type Place = { member: EtcdMember } | "Absent" | "Outside" | { unknown: string };

/** `all` are the machines that could be members, this one among them or not. */
export function placeOf(survey: EtcdSurvey, machine: Machine, all: readonly Machine[]): Place {
  const { members, silence } = survey;
  if (silence !== undefined) return { unknown: silence };
  if (members.length === 0) return { unknown: "etcd reports no members" };
  const found = memberAt(survey, machine);
  if (found === "Ambiguous") return { unknown: "several etcd members have its address or its name" };
  if (found) return { member: found };
  const known = new Set(all.map((each) => memberAt(survey, each)).filter((each) => each !== "Ambiguous"));
  if (members.every((member) => !known.has(member))) return "Outside";
  const stranger = members.find((member) => !known.has(member));
  return stranger ? { unknown: `etcd member "${stranger.name || stranger.id}" does not match any machine` } : "Absent";
}

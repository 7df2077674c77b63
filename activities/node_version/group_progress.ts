/** How far the groups of a NodeVersion are, as their Rollouts tell. */
import { isControlPlane } from "./release.ts";
import type { Kube } from "../kube/client.ts";
import { abreast } from "../kube/abreast.ts";
import { readObject, rollouts } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";
import type { ScalingGroup } from "../kube/update_kinds.ts";
import type { VersionStage } from "../../workflows/contracts/mod.ts";

/** GETs at a time. */
const width = 20;
/** Groups whose trouble is told. */
const named = 5;

/** Phases in which a group waits for a person, as the middle of a sentence. */
const standing: Record<string, string> = {
  Halted: "is halted",
  RolledBack: "went back",
  Aborted: "was stopped",
};

export interface GroupProgress {
  name: string;
  stage: VersionStage;
  groupId: string;
  /** Its rollout has come to its end with what is wanted. */
  isDone: boolean;
  /** Its rollout waits for a person, with the reason; "" while it does not. */
  halted: string;
}

/** Reads one Rollout for each group; `hash` is of what is wanted. */
export async function readProgress(
  kube: Kube,
  groups: readonly ScalingGroup[],
  hash: string,
): Promise<GroupProgress[]> {
  return await abreast(width, [...groups], async (group) => {
    const { name } = group.metadata;
    const where = { namespace: "kube-system", name: `scaling-group.${name}` };
    const { phase, targetTemplateHash, reason, message } = (await ifFound(readObject(kube, rollouts, where)))?.status ??
      {};
    const isOfThis = targetTemplateHash === hash;
    const said = [reason, message].filter(Boolean).map(String).join(": ").slice(0, 500);
    return {
      ...{ name, groupId: group.spec.groupId, stage: isControlPlane(group) ? "ControlPlane" : "Workers" },
      isDone: phase === "Converged" && isOfThis,
      halted: stands(phase, reason) ? `group "${name}" ${standing[phase ?? ""] ?? "waits"}: ${said}` : "",
    };
  });
}

/** Nothing goes on until a person acts. */
function stands(phase = "", reason: unknown): boolean {
  return phase in standing || reason === "ProtectedRemain";
}

/** What is told of those that are halted. */
export function haltedOf(groups: readonly GroupProgress[]): string[] {
  return groups.flatMap(({ halted }) => halted === "" ? [] : [halted]).slice(0, named);
}

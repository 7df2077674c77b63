/** How far the groups of a NodeVersion are, as their Rollouts tell. */
import { observedOf, targetOf } from "../backends/scaling_group/target.ts";
import { askedBy, hashOf, isControlPlane } from "../backends/scaling_group/version_release.ts";
import type { Kube } from "../kube/client.ts";
import { abreast, ifFound } from "../kube/status.ts";
import { readObject, rollouts } from "../kube/resources.ts";
import type { NodeVersion, ScalingGroup } from "../kube/update_kinds.ts";
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

/** Phases in which something is under way; illness is repaired also while nothing is rolled. */
const moving = ["Preparing", "Creating", "Rolling", "RollingBack", "Deleting"];
/** Reasons by which nothing is, until a person acts, or a window opens. */
const asking = ["ProtectedRemain", "Paused", "AwaitingApproval", "EtcdInDoubt"];
const closed = "OutsideWindow";

export interface GroupProgress {
  name: string;
  stage: VersionStage;
  groupId: string;
  /** Its rollout has come to its end with what is wanted. */
  isDone: boolean;
  /** Its rollout waits for a person, with the reason; "" while it does not. */
  halted: string;
  /** The same for its window. */
  waiting: string;
  isMoving: boolean;
}

/** Reads one Rollout for each group. One that does not follow what is wanted, as nobody wrote down that it does, is not done. */
export async function readProgress(
  kube: Kube,
  groups: readonly ScalingGroup[],
  version: NodeVersion,
): Promise<GroupProgress[]> {
  const hash = hashOf(askedBy(version));
  return await abreast(width, [...groups], async (group) => {
    const { name } = group.metadata;
    const where = { namespace: "kube-system", name: `scaling-group.${name}` };
    const { phase, targetTemplateHash, reason, message, observed } =
      (await ifFound(readObject(kube, rollouts, where)))?.status ?? {};
    const target = targetOf(group, version);
    const isOfThis = targetTemplateHash === hash && target !== undefined && hashOf(target) === hash;
    // One that stood still may go on as soon as its run knows what is asked for now.
    const isTold = observed === observedOf(group, version);
    const isStanding = isTold && stands(phase, reason);
    const said = [reason, message].filter(Boolean).map(String).join(": ").slice(0, 500);
    return {
      ...{ name, groupId: group.spec.groupId, stage: isControlPlane(group) ? "ControlPlane" : "Workers" },
      isDone: phase === "Converged" && isOfThis,
      halted: isStanding ? `group "${name}" ${standing[phase ?? ""] ?? "waits"}: ${said}` : "",
      waiting: isTold && reason === closed ? `group "${name}" waits: ${said}` : "",
      isMoving: moving.includes(phase ?? "") && !stands(phase, reason) && reason !== closed,
    };
  });
}

/** Nothing goes on until a person acts. */
function stands(phase = "", reason: unknown): boolean {
  return phase in standing || asking.includes(String(reason));
}

/** What is told of those that are halted, or wait. */
export function toldOf(groups: readonly GroupProgress[], what: "halted" | "waiting"): string[] {
  return groups.map((group) => group[what]).filter((said) => said !== "").slice(0, named);
}

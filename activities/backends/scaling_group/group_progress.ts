/** Reads the progress of the groups of a NodeVersion from their Rollouts. */
import { observedOf, targetOf } from "./target.ts";
import { askedBy, hashOf, isControlPlane } from "../../node_version/version_release.ts";
import type { Kube } from "../../kube/client.ts";
import { abreast, ifFound } from "../../kube/status.ts";
import { readObject, rollouts } from "../../kube/resources.ts";
import type { NodeVersion, ScalingGroup } from "../../kube/update_kinds.ts";
import type { VersionStage } from "../../../workflows/contracts/mod.ts";

/** Number of concurrent GETs of Rollouts. */
const width = 20;
/** Maximum number of groups that a message names. */
const named = 5;

/** Phases in which a group waits for an administrator, with the words for the phase in a message. */
const standing: Record<string, string> = {
  Halted: "is halted",
  RolledBack: "was rolled back",
  Aborted: "was aborted",
};

/**
 * Phases in which a rollout replaces machines. "Repairing" is not one of them, because machines are also repaired
 * without a rollout.
 */
const moving = ["Preparing", "Creating", "Rolling", "RollingBack", "Deleting"];
/**
 * Reasons in the status of a Rollout for which its group waits for an administrator; `closed` is the reason for which a
 * group waits for its maintenance window.
 */
const asking = ["ProtectedRemain", "Paused", "AwaitingApproval", "EtcdInDoubt"];
const closed = "OutsideWindow";

export interface GroupProgress {
  name: string;
  stage: VersionStage;
  groupId: string;
  /** Whether the group's rollout has converged on the desired version. */
  isDone: boolean;
  /** Why the group's rollout waits for an administrator; "" if it does not. */
  halted: string;
  /** Why the group's rollout waits for its maintenance window; "" if it does not. */
  waiting: string;
  isMoving: boolean;
}

/**
 * Reads one Rollout for each group. A group is done only if its own target and that of its Rollout are the desired
 * version.
 */
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
    // A halt or wait in a status that was written before the run observed the current objects does not count, because
    // the run may continue once it has observed them.
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

/** Returns whether the group waits until an administrator acts. */
function stands(phase = "", reason: unknown): boolean {
  return phase in standing || asking.includes(String(reason));
}

/** Returns the messages of at most `named` groups that are halted, or that wait for their windows. */
export function toldOf(groups: readonly GroupProgress[], what: "halted" | "waiting"): string[] {
  return groups.map((group) => group[what]).filter((said) => said !== "").slice(0, named);
}

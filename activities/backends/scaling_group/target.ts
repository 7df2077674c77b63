/** The target of a scaling group's machines: its released NodeVersion, or the target of a rollback. */
import type { NodeVersion, ScalingGroup } from "../../kube/update_kinds.ts";
import { askedBy, digestOf, hashOf, isReleased, type Target } from "../../node_version/version_release.ts";
import { type Boots, ledgerOf } from "./ledger.ts";

/**
 * Returns the current target of a group: normally the result of `unpinnedTarget`, but the last good target while the
 * group is rolled back from that result or from the target of its NodeVersion. Undefined if no target is known.
 */
export function targetOf(group: Grouped, version: Versioned): Target | undefined {
  const { pin } = ledgerOf(group);
  return pin && !isPinOver(group, version) ? bare(pin.boots) : unpinnedTarget(group, version);
}

type Grouped = Pick<ScalingGroup, "metadata" | "spec">;
type Versioned = Pick<NodeVersion, "spec" | "status">;

/**
 * Returns the target of a group without a rollback: that of the NodeVersion if it is released to the group, else the
 * one that the group boots already; undefined if none is known.
 */
export function unpinnedTarget(group: Grouped, version: Versioned): Target | undefined {
  if (isReleased(group, version)) return askedBy(version);
  const { boots } = ledgerOf(group);
  return boots && bare(boots);
}

/**
 * Returns whether the pin of the group's rollback is out of date: the target that the group was rolled back from is
 * neither that of its NodeVersion any more, nor the one that the group would have without the pin.
 */
export function isPinOver(group: Grouped, version: Versioned): boolean {
  const { pin } = ledgerOf(group);
  if (!pin) return false;
  // The NodeVersion's target is compared too: after the rollback the group boots the last good target, which
  // `unpinnedTarget` then returns if the NodeVersion is not released to the group.
  const targets = [askedBy(version), unpinnedTarget(group, version)];
  return !targets.some((each) => each && hashOf(each) === pin.from);
}

/** Returns a text that changes with anything that a rollout of the group depends on, except its size in the cloud. */
export function observedOf(
  group: Grouped,
  version: Pick<NodeVersion, "metadata" | "spec" | "status"> | undefined,
): string {
  const { uid, generation = 0, deletionTimestamp } = group.metadata;
  const { nodeImage, groupId, role } = group.spec;
  const target = version && (targetOf(group, version) ?? "none");
  // A pin that is over starts a run, which removes the pin although the target stays equal.
  const pinned = version && isPinOver(group, version) ? ["pin over"] : [];
  return `g${generation}-${
    digestOf([uid, deletionTimestamp !== undefined, nodeImage, groupId, role, target ?? "no version", ...pinned])
  }`;
}

function bare({ image, components }: Boots): Target {
  return { image, components };
}

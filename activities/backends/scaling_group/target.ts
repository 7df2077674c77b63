/** The target of a scaling group's machines: its released NodeVersion, or the target of a rollback. */
import type { NodeVersion, ScalingGroup } from "../../kube/update_kinds.ts";
import { askedBy, digestOf, hashOf, isReleased, type Target } from "../../node_version/version_release.ts";
import { type Boots, ledgerOf } from "./ledger.ts";

/**
 * Returns the current target of a group: the last good one if the group was rolled back from the target that it would
 * have otherwise, or from that of its NodeVersion; undefined if none is known.
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

/** Returns whether the group has the pin of a rollback from a target that it would not have any more. */
export function isPinOver(group: Grouped, version: Versioned): boolean {
  const { pin } = ledgerOf(group);
  if (!pin) return false;
  // The NodeVersion is compared, too, because the group boots the last good target once that is published.
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

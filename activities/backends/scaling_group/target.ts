/** The target of a scaling group's machines: its released NodeVersion, or the target of a rollback. */
import type { NodeVersion, ScalingGroup } from "../../kube/update_kinds.ts";
import { askedBy, digestOf, hashOf, isReleased, type Target } from "../../node_version/version_release.ts";
import { type Boots, ledgerOf } from "./ledger.ts";

/**
 * Returns the current target of a group: the pinned one after a rollback, else that of the NodeVersion if it is
 * released to the group, else the one that the group boots already; undefined if none is known.
 */
export function targetOf(
  group: Pick<ScalingGroup, "metadata" | "spec">,
  version: Pick<NodeVersion, "spec" | "status">,
): Target | undefined {
  const { boots, pin } = ledgerOf(group);
  const asked = askedBy(version);
  if (pin?.from === hashOf(asked)) return bare(pin.boots);
  if (isReleased(group, version)) return asked;
  return boots && bare(boots);
}

/** Returns a text that changes with anything that a rollout of the group depends on, except its size in the cloud. */
export function observedOf(
  group: Pick<ScalingGroup, "metadata" | "spec">,
  version: Pick<NodeVersion, "metadata" | "spec" | "status"> | undefined,
): string {
  const { uid, generation = 0, deletionTimestamp } = group.metadata;
  const { nodeImage, groupId, role } = group.spec;
  const target = version && (targetOf(group, version) ?? "none");
  return `g${generation}-${
    digestOf([uid, deletionTimestamp !== undefined, nodeImage, groupId, role, target ?? "no version"])
  }`;
}

function bare({ image, components }: Boots): Target {
  return { image, components };
}

/** What the machines of a scaling group are to run: as its NodeVersion says, once that is released to it, or as it went back to. */
import type { NodeVersion, ScalingGroup } from "../../kube/update_kinds.ts";
import { askedBy, digestOf, hashOf, isReleased, type Target } from "../../node_version/version_release.ts";
import { type Boots, ledgerOf } from "./ledger.ts";

/**
 * The target of a group now: where it went back from what is asked for, what it went back to; where that is not released to
 * it, what it boots already; undefined where neither is known.
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

/** The identity of all that a rollout of the group depends on, but for its size, which the cloud has. */
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

/** What the machines of a scaling group are to run: as its NodeVersion says, once that is released to it, or as it went back to. */
import { createHash } from "node:crypto";
import type { NodeVersion, ScalingGroup } from "../../kube/update_kinds.ts";
import { type Boots, ledgerOf } from "./ledger.ts";

/** An image and a set of components, as nodes bear them. */
export interface Target {
  image: string;
  components: string;
}

/** The identity of a target, in whatever case it is told. */
export function hashOf({ image, components }: Target): string {
  return digestOf([image.toLowerCase(), components.toLowerCase()]).slice(0, 10);
}

/** What a NodeVersion asks for. */
export function askedBy({ spec }: Pick<NodeVersion, "spec">): Target {
  return { image: spec.image, components: spec.kubernetesComponentsReference };
}

export type Stage = "ControlPlane" | "Workers";

/** Up to which stage a NodeVersion is released, as its status says; what is released is one target, and no later one. */
export function releasedStage(version: Pick<NodeVersion, "spec" | "status">): Stage | undefined {
  const { stage, digest } = (version.status?.["released"] ?? {}) as { stage?: unknown; digest?: unknown };
  if (digest !== hashOf(askedBy(version))) return undefined;
  return stage === "ControlPlane" || stage === "Workers" ? stage : undefined;
}

/** Whether a group may take up what its NodeVersion asks for. */
export function isReleased(group: Pick<ScalingGroup, "spec">, version: Pick<NodeVersion, "spec" | "status">): boolean {
  const stage = releasedStage(version);
  return isControlPlane(group) ? stage !== undefined : stage === "Workers";
}

export function isControlPlane({ spec: { role } }: Pick<ScalingGroup, "spec">): boolean {
  return /^control-?plane$/i.test(role);
}

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

export function digestOf(facts: unknown): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}

function bare({ image, components }: Boots): Target {
  return { image, components };
}

/** What a NodeVersion asks for, and to which stage of its groups that is released. */
import { createHash } from "node:crypto";
import type { NodeVersion, ScalingGroup } from "../kube/update_kinds.ts";

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

/** Whether a group may take up what its NodeVersion asks for. What workers may, control planes may not for that alone. */
export function isReleased(group: Pick<ScalingGroup, "spec">, version: Pick<NodeVersion, "spec" | "status">): boolean {
  return releasedStage(version) === (isControlPlane(group) ? "ControlPlane" : "Workers");
}

export function isControlPlane({ spec: { role } }: { spec: Pick<ScalingGroup["spec"], "role"> }): boolean {
  return /^control-?plane$/i.test(role);
}

/** A short identity of facts that are plain JSON. */
export function digestOf(facts: unknown): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}

/** A Machine as the planner sees it. */
import type { Member, MemberPhase, PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Machine } from "../../kube/schemas.ts";
import { isOwnHold } from "../../node/holder.ts";
import { holdAnnotation, instanceFinalizer, victimAnnotation } from "./annotations.ts";
import { templateHashLabel } from "../../kube/machine_deployment.ts";
import { imageOf, kubeletOf } from "../../kube/machine_template.ts";

/** Reads phase, hold and mark off a Machine's metadata and status. */
export function memberOf(pool: PoolRef, machine: Machine): Member {
  const { metadata, status, spec } = machine;
  const node = status?.nodeRef?.name;
  return {
    id: metadata.name,
    ...(node ? { node } : {}),
    templateHash: metadata.labels?.[templateHashLabel] ?? "",
    image: imageOf(spec),
    kubelet: kubeletOf(spec),
    phase: phaseOf(machine),
    since: metadata.creationTimestamp,
    marked: isOwnHold(pool, metadata.annotations?.[victimAnnotation]),
    held: isOwnHold(pool, metadata.annotations?.[holdAnnotation]),
    expendable: isExpendable(pool, machine),
  };
}

/** machine-controller has added the finalizer, which it does right before it orders an instance. */
export function hasInstance(machine: Machine): boolean {
  return machine.metadata.finalizers?.includes(instanceFinalizer) ?? false;
}

/** Joined once; machine-controller appends the condition at the first Ready and never takes it back. */
export function hasJoined(machine: Machine): boolean {
  return machine.status?.nodeRef != null && wasReady(machine);
}

function wasReady({ status }: Machine): boolean {
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function isExpendable(pool: PoolRef, { metadata, status }: Machine): boolean {
  const mark = metadata.annotations?.[victimAnnotation];
  return (mark !== undefined && !isOwnHold(pool, mark)) || status?.errorReason != null;
}

function phaseOf(machine: Machine): MemberPhase {
  if (machine.metadata.deletionTimestamp) return "Leaving";
  if (hasJoined(machine)) return "Ready";
  // machine-controller takes the reference back when the Node object is gone.
  if (wasReady(machine)) return "NotReady";
  if (machine.status?.nodeRef) return "Joining";
  if (hasInstance(machine)) return "Booting";
  return machine.metadata.annotations?.[holdAnnotation] ? "Held" : "Provisioning";
}

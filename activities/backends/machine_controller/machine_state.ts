/** How far a Machine has come, as machine-controller tells it. */
import type { Member } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { machines, readObject } from "../../kube/resources.ts";
import type { Machine } from "../../kube/schemas.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import type { MachineState, MemberRef } from "../contract.ts";
import { imageOf } from "../../kube/machine_template.ts";
import { hasInstance, hasJoined, memberOf } from "./member.ts";

/** Reads one Machine; undefined when it is gone. */
export async function readState(kube: Kube, member: MemberRef): Promise<MachineState | undefined> {
  const found = await readMachine(kube, member);
  return found && stateOf(found);
}

/** The same as the planner sees it. */
export async function readMember(kube: Kube, member: MemberRef): Promise<Member | undefined> {
  const found = await readMachine(kube, member);
  return found && memberOf(member.pool, found);
}

function readMachine(kube: Kube, { pool, machine }: MemberRef): Promise<Machine | undefined> {
  return attempting(
    `read machine "${machine}"`,
    () => ifFound(readObject(kube, machines, { namespace: pool.namespace, name: machine })),
  );
}

/** The same of a Machine at hand; pure. */
export function stateOf(machine: Machine): MachineState {
  const { metadata, spec, status } = machine;
  const { namespace, name } = metadata;
  const { errorReason, errorMessage, nodeRef, addresses } = status ?? {};
  return {
    name,
    leaving: metadata.deletionTimestamp !== undefined,
    ordered: hasInstance(machine),
    ...(errorReason ? { trouble: `${errorReason}: ${errorMessage ?? "no message"}` } : {}),
    addresses: (addresses ?? []).map(({ address }) => address),
    ...(nodeRef ? { node: nodeRef.name } : {}),
    joined: hasJoined(machine),
    image: imageOf(spec),
    finalizers: metadata.finalizers ?? [],
    object: { kind: "Machine", namespace, name },
  };
}

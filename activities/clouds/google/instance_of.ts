/** Combines an instance in a group's list with its virtual machine, in the form that is common to all clouds. */
import type { Instance, InstanceState } from "../driver.ts";
import type { Group } from "./group.ts";
import type { Machine } from "./machines.ts";
import type { Managed } from "./managers.ts";
import { tokenIn } from "./names.ts";
import { type MachinePlace, providerIdOf } from "./paths.ts";
import { refusalIn } from "./refusal.ts";

interface Seen {
  place: MachinePlace;
  managed: Managed;
  /** The machine of the instance; undefined if it does not exist. */
  machine: Machine | undefined;
  image: string;
}

const states: Readonly<Record<string, InstanceState>> = {
  ...{ PENDING: "Creating", PROVISIONING: "Creating", STAGING: "Creating", RUNNING: "Ready" },
  ...{ PENDING_STOP: "Stopped", STOPPING: "Stopped", STOPPED: "Stopped", TERMINATED: "Stopped" },
  ...{ SUSPENDING: "Stopped", SUSPENDED: "Stopped", REPAIRING: "Stopped", DEPROVISIONING: "Terminating" },
};

export function instanceOf({ id: group }: Group, { place, managed, machine, image }: Seen, project: string): Instance {
  const token = tokenIn(group, place.name);
  const { networkInterfaces, deletionProtection, creationTimestamp } = machine?.vm ?? {};
  return {
    ...{ providerId: providerIdOf(place, project), group, node: place.name, state: stateOf(managed, machine) },
    ...{ trouble: troubleOf(managed), image },
    addresses: (networkInterfaces ?? []).flatMap(({ networkIP }) => networkIP ?? []),
    ...(token === undefined ? {} : { token }),
    zone: place.zone,
    isProtected: deletionProtection ?? false,
    since: new Date(creationTimestamp ?? Date.now()).toISOString(),
  };
}

/** Returns whether the group is deleting or abandoning the instance. */
export function isLeaving({ currentAction }: Managed): boolean {
  return currentAction === "DELETING" || currentAction === "ABANDONING";
}

/** Returns whether the group is creating the instance, also after failed attempts. */
function isBeingMade({ currentAction }: Managed): boolean {
  return /^(RE)?CREATING/.test(currentAction ?? "");
}

function stateOf(managed: Managed, machine: Machine | undefined): InstanceState {
  if (isLeaving(managed)) return "Terminating";
  const status = machine?.vm.status || managed.instanceStatus;
  if (status) return states[status] ?? "Unknown";
  return isBeingMade(managed) ? "Creating" : "Unknown";
}

function troubleOf(managed: Managed): string {
  // Errors of earlier attempts do not matter once the machine exists.
  const failed = isBeingMade(managed) ? refusalIn(managed.lastAttempt?.errors) : undefined;
  if (failed) return failed.says;
  // While the group verifies a new machine, it ignores failed health checks, because the machine may still boot.
  const isVerified = managed.currentAction !== "VERIFYING";
  const isIll = isVerified && managed.instanceHealth?.some((each) => each.detailedHealthState === "UNHEALTHY");
  return isIll ? "the group reports the instance as UNHEALTHY" : "";
}

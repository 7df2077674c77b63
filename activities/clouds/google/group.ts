/** Describes a group of Google in the form that is common to all clouds. */
import type { CloudGroup } from "../driver.ts";
import type { Autoscaler, Config, Managed, Manager } from "./managers.ts";
import { autoscalerNameOf, type GroupPlace } from "./paths.ts";

/** Label of the templates of a cluster. */
export const clusterLabel = "constellation-uid";

export interface Group {
  place: GroupPlace;
  id: string;
  manager: Manager;
  labels: Record<string, string>;
  /** The autoscaler of the group, also if its mode is OFF; undefined without one. */
  autoscaler: Autoscaler | undefined;
}

/** Default maximum of instances of a group without an autoscaler, in a zone or a region. */
const most = { zones: 1_000, regions: 2_000 };

const roles: Readonly<Record<string, CloudGroup["role"]>> = {
  worker: "Worker",
  ...{ "control-plane": "ControlPlane", controlplane: "ControlPlane" },
};

export function groupOf({ place, id, manager, labels, autoscaler }: Group, project: string): CloudGroup {
  const { minNumReplicas, maxNumReplicas } = autoscaler?.autoscalingPolicy ?? {};
  return {
    ...{ id, name: labels["constellation-node-group"] || place.name },
    autoscalerName: autoscalerNameOf(place, project),
    role: roles[labels["constellation-role"]?.toLowerCase() ?? ""] ?? "",
    ...{ min: minNumReplicas ?? 0, max: maxNumReplicas ?? most[place.kind], size: manager.targetSize ?? 0 },
  };
}

/** Returns why Ostler cannot roll the group; undefined if it can. */
export function unrestOf({ place, manager, autoscaler }: Group): string | undefined {
  const { versions, updatePolicy, targetStoppedSize, targetSuspendedSize } = manager;
  if ((targetStoppedSize ?? 0) + (targetSuspendedSize ?? 0) > 0) {
    return "it keeps stopped or suspended instances, which would join with the previous image; delete or resume them";
  }
  if ((versions ?? []).length > 1) return `it boots ${versions?.length} versions; configure one`;
  if (updatePolicy?.type === "PROACTIVE") {
    return "it replaces instances by itself (updatePolicy.type is PROACTIVE); set OPPORTUNISTIC";
  }
  if (place.kind === "regions" && updatePolicy?.instanceRedistributionType !== "NONE") {
    return "it removes instances by itself to even out zones; set updatePolicy.instanceRedistributionType to NONE";
  }
  const mode = autoscaler?.autoscalingPolicy?.mode ?? "ON";
  if (autoscaler && mode !== "OFF") {
    return `its autoscaler changes the group's size (mode is ${mode}); set mode OFF`;
  }
  return undefined;
}

/**
 * Returns which state of its instances the group preserves, as the cause of a refusal: the removal of an instance would
 * destroy that state or leave it behind. Undefined for a stateless group. `configs` are the configurations of the
 * instances.
 */
export function stateOf({ manager }: Group, configs: readonly Config[]): string | undefined {
  const remedy =
    "which Google destroys or leaves behind when the instance is removed; delete the group's stateful configuration";
  if (isKept(manager.statefulPolicy?.preservedState)) {
    return `its statefulPolicy preserves disks or addresses, ${remedy}`;
  }
  const kept = configs.find(({ preservedState }) => isKept(preservedState));
  return kept && `its configuration of instance "${kept.name}" preserves disks, addresses or metadata, ${remedy}`;
}

/**
 * Returns whether the group preserves anything of the instance, even if the stateful configuration was deleted since.
 */
export function hasState({ preservedStateFromPolicy, preservedStateFromConfig }: Managed): boolean {
  return isKept(preservedStateFromPolicy) || isKept(preservedStateFromConfig);
}

/** Returns whether a preserved state has entries; an instance that was created by name has an empty preserved state. */
function isKept(state: object | null | undefined): boolean {
  return Object.values(state ?? {}).some((each) => Object.keys(each ?? {}).length > 0);
}

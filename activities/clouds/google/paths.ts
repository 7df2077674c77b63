/** Names of things at Google: paths below the API's address, as they stand in its answers with that address before them. */
import { groupKeyOf } from "../driver.ts";

/** A manager of an instance group, in a zone or in a whole region. */
export interface GroupPlace {
  kind: "zones" | "regions";
  /** The zone or the region. */
  where: string;
  name: string;
}

/** A machine, whether it is there or not. */
export interface MachinePlace {
  zone: string;
  name: string;
}

/** What one answer tells with an address, and another without, in one form. */
export function pathOf(url: string | null | undefined): string {
  return (url ?? "").replace(/^https?:\/\/[^/]+\/compute\/[a-z0-9]+\//, "");
}

export function lastOf(url: string | null | undefined): string {
  return (url ?? "").split("/").at(-1) ?? "";
}

/** Undefined for what is no group of the project. */
export function groupPlaceOf(id: string, project: string): GroupPlace | undefined {
  const form = /^projects\/([^/]+)\/(zones|regions)\/([^/]+)\/instancegroupmanagers\/([^/]+)$/;
  const [, of, kind, where = "", name = ""] = form.exec(groupKeyOf(pathOf(id))) ?? [];
  if (of !== project.toLowerCase() || kind === undefined) return undefined;
  return { kind: kind === "zones" ? "zones" : "regions", where, name };
}

/** As the Constellation node operator tells it. */
export function groupIdOf({ kind, where, name }: GroupPlace, project: string): string {
  return `projects/${project}/${kind}/${where}/instanceGroupManagers/${name}`;
}

/** As the cluster-autoscaler is told of it. */
export function autoscalerNameOf({ kind, where, name }: GroupPlace, project: string): string {
  return `https://www.googleapis.com/compute/v1/projects/${project}/${kind}/${where}/instanceGroups/${name}`;
}

/** The group that made a machine, in whose metadata its project is a number. */
export function makerOf(createdBy: string, project: string): GroupPlace | undefined {
  return groupPlaceOf(createdBy.replace(/^projects\/\d+\//, `projects/${project}/`), project);
}

export function providerIdOf({ zone, name }: MachinePlace, project: string): string {
  return `gce://${project}/${zone}/${name}`;
}

/** Undefined for what is no machine of the project. */
export function machinePlaceOf(providerId: string, project: string): MachinePlace | undefined {
  const [, of, zone, name] = /^gce:\/\/([^/]+)\/([a-z0-9-]+)\/([a-z0-9-]+)$/.exec(providerId) ?? [];
  return of === project && zone !== undefined && name !== undefined ? { zone, name } : undefined;
}

/** The machine at a URL, also where it has not been made yet. */
export function machineAt(url: string | null | undefined): MachinePlace | undefined {
  const [, zone, name] = /\/zones\/([^/]+)\/instances\/([^/]+)$/.exec(url ?? "") ?? [];
  return zone !== undefined && name !== undefined ? { zone, name } : undefined;
}

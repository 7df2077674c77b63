/** Names of Google's resources: paths below the API's address; some answers of Google also contain that address. */
import { groupKeyOf } from "../driver.ts";

/** The instance group manager of a zone or a region. */
export interface GroupPlace {
  kind: "zones" | "regions";
  /** Name of the zone or the region. */
  where: string;
  name: string;
}

/** The name and zone of a machine that may not exist. */
export interface MachinePlace {
  zone: string;
  name: string;
}

/** Removes the address of the API, which only some answers contain. */
export function pathOf(url: string | null | undefined): string {
  return (url ?? "").replace(/^https?:\/\/[^/]+\/compute\/[a-z0-9]+\//, "");
}

export function lastOf(url: string | null | undefined): string {
  return (url ?? "").split("/").at(-1) ?? "";
}

/** Returns undefined for an id that is not of a group in the project. */
export function groupPlaceOf(id: string, project: string): GroupPlace | undefined {
  const form = /^projects\/([^/]+)\/(zones|regions)\/([^/]+)\/instancegroupmanagers\/([^/]+)$/;
  const [, of, kind, where = "", name = ""] = form.exec(groupKeyOf(pathOf(id))) ?? [];
  if (of !== project.toLowerCase() || kind === undefined) return undefined;
  return { kind: kind === "zones" ? "zones" : "regions", where, name };
}

/** Returns the id in the form of the Constellation node operator. */
export function groupIdOf({ kind, where, name }: GroupPlace, project: string): string {
  return `projects/${project}/${kind}/${where}/instanceGroupManagers/${name}`;
}

/** Returns the name in the form of the cluster-autoscaler. */
export function autoscalerNameOf({ kind, where, name }: GroupPlace, project: string): string {
  return `https://www.googleapis.com/compute/v1/projects/${project}/${kind}/${where}/instanceGroups/${name}`;
}

/** Returns the group that created a machine; metadata of machines has the number of the project instead of its name. */
export function makerOf(createdBy: string, project: string): GroupPlace | undefined {
  return groupPlaceOf(createdBy.replace(/^projects\/\d+\//, `projects/${project}/`), project);
}

export function providerIdOf({ zone, name }: MachinePlace, project: string): string {
  return `gce://${project}/${zone}/${name}`;
}

/** Returns undefined for an id that is not of a machine in the project. */
export function machinePlaceOf(providerId: string, project: string): MachinePlace | undefined {
  const [, of, zone, name] = /^gce:\/\/([^/]+)\/([a-z0-9-]+)\/([a-z0-9-]+)$/.exec(providerId) ?? [];
  return of === project && zone !== undefined && name !== undefined ? { zone, name } : undefined;
}

/** Returns the name and zone in the URL of a machine, which need not exist yet. */
export function machineAt(url: string | null | undefined): MachinePlace | undefined {
  const [, zone, name] = /\/zones\/([^/]+)\/instances\/([^/]+)$/.exec(url ?? "") ?? [];
  return zone !== undefined && name !== undefined ? { zone, name } : undefined;
}

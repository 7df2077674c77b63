/**
 * The line of a profile: the profile itself, then the one that it extends, and so on. A change of any of them is a
 * change for the pools that use the first one.
 */
import type { Cluster } from "../cluster.ts";
import { type ObjectName, type OsProfileObject, profiles, readObject } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";

/** Maximum number of profiles that are read; rendering refuses a profile with more than five parents. */
const longest = 6;

/** One profile of a line; `object` is undefined if no profile has that name. */
export interface LinedProfile {
  ref: ObjectName;
  object: OsProfileObject | undefined;
}

/**
 * Returns the state of a line, to detect changes. For a profile that extends no other this is its generation, or
 * undefined if it does not exist; else the generations of all profiles, separated by commas.
 */
export function lineState(line: LinedProfile[]): number | string | undefined {
  const generations = line.map(({ object }) => object?.metadata.generation);
  if (generations.length <= 1) return generations[0];
  return generations.map((generation) => generation ?? "none").join(",");
}

/** Returns profile `ref` and all that it extends, as `find` returns them. */
export function profileLine(ref: ObjectName, find: (ref: ObjectName) => OsProfileObject | undefined): LinedProfile[] {
  const line: LinedProfile[] = [];
  for (let next: ObjectName | undefined = ref; next && line.length < longest;) {
    const object = find(next);
    line.push({ ref: next, object });
    next = parentOf(next, object);
  }
  return line;
}

/** Reads profile `ref` and all that it extends from the API server; answers may be `freshMs` old. */
export async function readProfileLine(kube: Cluster, ref: ObjectName, freshMs = 0): Promise<LinedProfile[]> {
  const line: LinedProfile[] = [];
  for (let next: ObjectName | undefined = ref; next && line.length < longest;) {
    const object: OsProfileObject | undefined = await ifFound(readProfile(kube, next, freshMs));
    line.push({ ref: next, object });
    next = parentOf(next, object);
  }
  return line;
}

function readProfile(kube: Cluster, { namespace, name }: ObjectName, freshMs: number): Promise<OsProfileObject> {
  const read = (): Promise<OsProfileObject> => readObject(kube, profiles, { namespace, name });
  return kube.cache.read(`profile ${namespace}/${name}`, read, { freshMs });
}

function parentOf({ namespace }: ObjectName, object: OsProfileObject | undefined): ObjectName | undefined {
  const spec = object?.spec as { extends?: { name?: unknown } } | null | undefined;
  const name = spec?.extends?.name;
  return typeof name === "string" && name !== "" ? { namespace, name } : undefined;
}

/** A profile and those it extends: a change of any of them is a change for its pools. */
import type { Cluster } from "../cluster.ts";
import { type ObjectName, type OsProfileObject, profiles, readObject } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";

/** Maximum number of profiles that are read of a line, because rendering refuses a longer line. */
const longest = 6;

/** One profile of a line; without an object if none has that name. */
export interface LinedProfile {
  ref: ObjectName;
  object: OsProfileObject | undefined;
}

/** Returns the identity of a line: the generation of its only profile, or the generations of all profiles in order. */
export function lineState(line: LinedProfile[]): number | string | undefined {
  const generations = line.map(({ object }) => object?.metadata.generation);
  if (generations.length <= 1) return generations[0];
  return generations.map((generation) => generation ?? "none").join(",");
}

/** Returns the line that begins with `ref`, from the given objects. */
export function profileLine(ref: ObjectName, find: (ref: ObjectName) => OsProfileObject | undefined): LinedProfile[] {
  const line: LinedProfile[] = [];
  for (let next: ObjectName | undefined = ref; next && line.length < longest;) {
    const object = find(next);
    line.push({ ref: next, object });
    next = parentOf(next, object);
  }
  return line;
}

/** Reads the line from the API server; answers may be `freshMs` old. */
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

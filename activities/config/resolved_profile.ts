/** Profiles as they are rendered, with all that they extend: read once, however many pools are published from one. */
import { type OsProfile, parseProfile, resolveProfile } from "../../profiles/mod.ts";
import type { Kube } from "../kube/client.ts";
import type { OsProfileObject } from "../kube/schemas.ts";
import type { LinedProfile } from "./profile_line.ts";

/** Those of a fleet that are in use at a time; each has as many bytes as its objects. */
const most = 16;

/** By API server. */
const known = new WeakMap<object, Map<string, OsProfile>>();

/**
 * What stands on the first of a line, with its parents merged in; never to be changed, as others have it too. Throws
 * ProfileRefused. A line holds more profiles than may follow each other, so all that are asked for are in it.
 */
export async function resolvedProfile(
  kube: Kube,
  first: OsProfileObject,
  line: readonly LinedProfile[],
): Promise<OsProfile> {
  const key = lineKey(line);
  const found = key === undefined ? undefined : known.get(kube.core)?.get(key);
  if (found) return found;
  const profile = await resolveProfile(parseProfile(first.spec), (name) => {
    const parent = line.find(({ ref }) => ref.name === name)?.object;
    return Promise.resolve(parent).then((object) => object && parseProfile(object.spec));
  });
  if (key !== undefined) keep(kube, key, profile);
  return profile;
}

/** Of exactly these contents; undefined where they do not tell their version. */
function lineKey(line: readonly LinedProfile[]): string | undefined {
  const versions = line.map(({ object }) => object?.metadata.resourceVersion);
  if (versions.includes(undefined)) return undefined;
  return line.map(({ object }, nth) => `${object?.metadata.uid}@${versions[nth]}`).join(",");
}

function keep({ core }: Kube, key: string, profile: OsProfile): void {
  const profiles = known.get(core) ?? new Map<string, OsProfile>();
  known.set(core, profiles.set(key, profile));
  const [oldest] = profiles.keys();
  if (profiles.size > most && oldest !== undefined) profiles.delete(oldest);
}

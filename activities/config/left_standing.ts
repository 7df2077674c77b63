/**
 * Where this process has left what it published last for a pool, without its text. Nothing is written but in the place of
 * a known version, so what is known may be out of date: then the API server refuses it. Most often that is known before,
 * as whoever publishes or renews writes the bootstrap secret last.
 */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { namesOf } from "../../profiles/mod.ts";
import { secretRevisionAnnotation } from "./names.ts";
import { annotationsOf, readSecret, type Standing, type Standings } from "./standing.ts";

/** Pools that are remembered, those published last: a few kilobytes each. */
const most = 1_000;

export interface LeftStanding {
  standing: Standings;
  /** When it was left, as `performance.now()` tells. */
  at: number;
}

const known = new WeakMap<object, Map<string, LeftStanding>>();

/** Remembers it; an edge script is for those who read all. */
export function leaveStanding(kube: Kube, { namespace, name }: PoolRef, standing: Standings): void {
  const left = known.get(kube.core) ?? new Map<string, LeftStanding>();
  known.set(kube.core, left);
  const { config, provisioning, kubeconfig, edgeScript, bootstrap } = standing;
  const all = [config, provisioning, kubeconfig, bootstrap];
  if (edgeScript || all.some(({ found }) => found?.metadata.resourceVersion === undefined)) return;
  const [one, other, third, last] = all.map(withoutText) as [Standing, Standing, Standing, Standing];
  const without = { config: one, provisioning: other, kubeconfig: third, bootstrap: last };
  left.set(`${namespace}/${name}`, { standing: without, at: performance.now() });
  for (const oldest of left.keys()) {
    if (left.size <= most) break;
    left.delete(oldest);
  }
}

/** What is found in the place of what was left. */
export interface FoundStanding {
  /** The bootstrap secret as it stands now, whose text holds what is used on. */
  bootstrap: Standing;
  /** All, where nobody has published since. */
  left?: LeftStanding;
}

/**
 * What this process has left there, of another revision, as all of it is going to be written; reads the bootstrap secret.
 * Taken once: whoever takes it leaves it again when all is written.
 */
export async function takeStanding(
  kube: Kube,
  pool: PoolRef,
  revision: string,
): Promise<FoundStanding | undefined> {
  const key = `${pool.namespace}/${pool.name}`;
  const left = known.get(kube.core)?.get(key);
  if (!left || annotationsOf(left.standing.bootstrap)[secretRevisionAnnotation] === revision) return undefined;
  known.get(kube.core)?.delete(key);
  const bootstrap = await readSecret(kube, namesOf(pool).bootstrap);
  if (versionOf(bootstrap) !== versionOf(left.standing.bootstrap)) return { bootstrap };
  return { bootstrap, left: { ...left, standing: { ...left.standing, bootstrap } } };
}

function versionOf({ found }: Standing): string | undefined {
  return found && `${found.metadata.uid} ${found.metadata.resourceVersion}`;
}

function withoutText({ found, ...place }: Standing): Standing {
  return found ? { ...place, found: { ...found, text: "" } } : place;
}

/**
 * Keeps two profiles of each pool, merged with the profiles that they extend: that of the last good config, and that of
 * the published config. So a pool can be rolled back to a profile that was changed or deleted since. The profiles are
 * in a Secret, because they may contain confidential values.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";
import { z } from "zod";
import { type OsProfile, parseProfile, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { throwIfCalledOff } from "../kube/paced_http.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { ownerAnnotation } from "./names.ts";
import { claim, ownerOf } from "./identity.ts";

/** A kept profile and settings: the inputs of a config besides the template. */
interface KeptProfile {
  profile: OsProfile;
  /** Settings of the MachineDeployment when the profile was kept. */
  settings: Record<string, string>;
}

const Kept = z.object({ profile: z.unknown(), settings: z.record(z.string(), z.string()) });

/**
 * Maximum size (bytes) of a kept profile, compressed: two of them fit into a Secret, beside a kept template. A larger
 * profile is not kept.
 */
const largest = 450_000;

/** First characters of the key of a kept template in the same Secret (`kept_template.ts`). */
export const templatePrefix = "template.";

/** Returns the name of the Secret with a pool's kept profiles. */
export function keptProfileName({ namespace, name }: PoolRef): string {
  return `ostler-last-good-${name}-${namespace}`;
}

/** Pool and inputs for which a profile is kept. */
interface Keeping {
  pool: PoolRef;
  /** Hash of the inputs, as returned by `inputsOf`; the key in the Secret. */
  inputs: string;
  /** Returns the hash of the inputs of the last good config; "" if there is none. */
  good: () => Promise<string>;
  /** Whether nothing is kept for the pool yet, as far as the caller knows. */
  isNew: boolean;
}

/**
 * Keeps the profile of `inputs` and that of the last good config, and deletes all other profiles of the pool. Does
 * nothing if the profile of `inputs` is kept already, or is too large. Calls `good` only if the pool has kept profiles.
 */
export async function keepProfile(
  kube: Kube,
  { pool, inputs, good, isNew, ...kept }: KeptProfile & Keeping,
): Promise<void> {
  if (isNew && await keepFirst(kube, pool, { inputs, kept })) return;
  const existing = await readKeptSecret(kube, pool);
  if (existing) claim(pool, `secret "${keptProfileName(pool)}"`, existing.metadata?.annotations);
  if (existing?.data?.[inputs] !== undefined) return;
  const packed = packedOf(kept);
  if (packed === undefined) return;
  const goodInputs = existing?.data ? await good() : "";
  const beside = existing?.data?.[goodInputs];
  const templates = Object.entries(existing?.data ?? {}).filter(([key]) => key.startsWith(templatePrefix));
  const profiles = { ...(beside === undefined ? {} : { [goodInputs]: beside }), [inputs]: packed };
  await writeKeptSecret(kube, pool, { existing, data: { ...Object.fromEntries(templates), ...profiles } });
}

/**
 * Creates the pool's Secret with its first profile, or nothing if the profile is too large; returns false if the Secret
 * exists already.
 */
async function keepFirst(
  kube: Kube,
  pool: PoolRef,
  { inputs, kept }: { inputs: string; kept: KeptProfile },
): Promise<boolean> {
  const packed = packedOf(kept);
  if (packed === undefined) return true;
  try {
    await writeKeptSecret(kube, pool, { existing: undefined, data: { [inputs]: packed } });
    return true;
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    return false;
  }
}

interface Packed {
  /** Settings of the MachineDeployment, as JSON. */
  settings: string;
  text: string | undefined;
}

const known = new WeakMap<OsProfile, Packed>();

/**
 * Returns profile and settings as compressed JSON in base64; undefined if they are too large. The result is computed
 * once for all pools with the same profile and settings.
 */
function packedOf({ profile, settings }: KeptProfile): string | undefined {
  const set = JSON.stringify(settings);
  const last = known.get(profile);
  if (last?.settings === set) return last.text;
  const packed = gzipSync(JSON.stringify({ profile, settings }));
  const text = packed.length > largest ? undefined : packed.toString("base64");
  known.set(profile, { settings: set, text });
  return text;
}

/** Reads a kept profile; undefined if it was not kept, or was too large. */
export async function readKeptProfile(kube: Kube, pool: PoolRef, inputs: string): Promise<KeptProfile | undefined> {
  const packed = (await readKeptSecret(kube, pool))?.data?.[inputs];
  if (packed === undefined) return undefined;
  const { profile, settings } = Kept.parse(JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString()));
  return { profile: parseProfile(profile), settings };
}

/** Reads the Secret with a pool's kept profiles and its kept template; undefined if nothing is kept. */
export function readKeptSecret(kube: Kube, pool: PoolRef): Promise<V1Secret | undefined> {
  return ifFound(kube.core.readNamespacedSecret({ name: keptProfileName(pool), namespace: secretsNamespace }));
}

/** Creates the Secret, or replaces the version that was read (`existing`). */
export async function writeKeptSecret(
  kube: Kube,
  pool: PoolRef,
  { existing, data }: { existing: V1Secret | undefined; data: Record<string, string> },
): Promise<void> {
  const [name, namespace] = [keptProfileName(pool), secretsNamespace];
  const annotations = { ...existing?.metadata?.annotations, [ownerAnnotation]: ownerOf(pool) };
  throwIfCalledOff();
  const body = { metadata: { ...existing?.metadata, name, namespace, annotations }, type: "Opaque", data };
  if (existing) await kube.core.replaceNamespacedSecret({ name, namespace, body });
  else await kube.core.createNamespacedSecret({ namespace, body });
}

/** What the random functions of templates start from: made once for an installation and kept, as keys depend on it. */
import { randomBytes } from "node:crypto";
import { missing } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { statusOf } from "../kube/status.ts";
import { tokensNamespace } from "./names.ts";
import { readSecretTexts } from "./referenced_secret.ts";

// Not with the secrets of pools: what machines read those with may, left from former days, read all that is there.
const where = { namespace: tokensNamespace, name: "ostler-seed" };

/** Nobody changes it but by deleting the secret; milliseconds after which that is noticed. */
const keptMs = 600_000;

const kept = new WeakMap<object, { seed: string; until: number }>();

/** The seed, which is read every so often; made where there is none. */
export async function ensureSeed(kube: Kube, now = Date.now()): Promise<string> {
  const known = kept.get(kube.core);
  if (known && now < known.until) return known.seed;
  const seed = await readSeed(kube);
  kept.set(kube.core, { seed, until: now + keptMs });
  return seed;
}

async function readSeed(kube: Kube): Promise<string> {
  const secret = await readSecretTexts(kube, where);
  if (!secret) return await createSeed(kube);
  const { seed } = secret.texts;
  // Nothing in its place would do: chance that starts from nothing can be guessed.
  if (!seed) throw missing(`Cannot use secret "${where.namespace}/${where.name}": it has nothing under "seed"`);
  return seed;
}

async function createSeed(kube: Kube): Promise<string> {
  const seed = randomBytes(32).toString("base64");
  const { namespace } = where;
  try {
    await kube.core.createNamespacedSecret({
      namespace,
      body: { metadata: where, type: "Opaque", immutable: true, stringData: { seed } },
    });
    return seed;
  } catch (error) {
    // Another activity was faster.
    if (statusOf(error) === 409) return await readSeed(kube);
    throw error;
  }
}

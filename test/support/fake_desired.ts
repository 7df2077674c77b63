/** The desired state of a fake pool, and its publications. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { byTurn } from "../../activities/pool/snapshot.ts";
import type {
  DesiredState,
  Keeping,
  Published,
  Rendering,
  Renewal,
  Rest,
  RestRenewal,
  RolloutPlan,
  TemplateStamp,
} from "../../workflows/contracts/mod.ts";
import { forecast } from "../../workflows/policy/forecast.ts";
import { failure } from "./fake_failure.ts";
import { hashOf } from "./fake_machine.ts";
import type { FakePool } from "./fake_pool.ts";
import { recall } from "./fake_rollout.ts";

/** Returns the current MachineDeployment, with the rules of its policy. */
export function desiredOf(pool: FakePool): DesiredState {
  if (pool.state !== "Present") return { state: pool.state };
  const { generation, replicas, surge, template, current, profileVersion, actor } = pool;
  const specHash = `${hashOf(template)}-p${profileVersion}`;
  return {
    state: "Present",
    desired: {
      ...{ generation, replicas, surge, actor, specHash, image: template.image, kubelet: template.kubelet },
      change: `${specHash}-${current?.revision ?? 0}`,
      observed: `g${generation}-r${current?.revision ?? 0}-p${profileVersion}`,
      settled: current !== undefined,
      revision: String(current?.revision ?? ""),
      templateHash: hashOf(template),
      profile: { name: "osp-ubuntu", namespace: "kube-system" },
      ...(template.stamp ? { stamp: template.stamp } : {}),
      ...(pool.etcd ? { isControlPlane: true as const } : {}),
    },
    rules: structuredClone(pool.rules),
  };
}

/**
 * Returns a digest of everything that a machine boots with, except for the template's stamp, which is computed from
 * this digest.
 */
export function digestOf({ template, profileVersion }: FakePool): string {
  const { image, kubelet } = template;
  return Buffer.from(`${image} ${kubelet}/${profileVersion}`).toString("hex");
}

/** Publishes the config for the current revision; fails if the given revision or digest is outdated. */
export function publish(
  pool: FakePool,
  { revision, configDigest = digestOf(pool) }: { revision: string; configDigest?: string },
): Published {
  if (configDigest !== digestOf(pool) || Number(revision) !== pool.current?.revision) {
    throw failure("GenerationStale", `Failed to publish revision ${revision}: the pool has changed`);
  }
  const isNew = pool.published?.digest !== configDigest || pool.published.revision !== Number(revision);
  const isDue = pool.renewAt <= Date.now();
  pool.published = { revision: Number(revision), digest: configDigest };
  if (isNew || isDue) pool.renewAt = Date.now() + pool.renewAfterMs;
  pool.touch();
  const news = isNew ? "Published" : isDue ? "Renewed" : "None";
  const trusted = pool.cas ? { trusted: { cas: pool.cas } } : {};
  return { artefacts: [], news, ...lifeOf(pool), ...trusted, rendering: render(pool) };
}

/** Returns the digest, the profile version and the sizes of the rendered config, without its contents. */
export function render(pool: FakePool): Rendering {
  return { configDigest: digestOf(pool), profileVersion: `1.0.${pool.profileVersion}`, files: 9, bytes: 900 };
}

/** Renews the published credentials if they are due. */
export function renewStanding(pool: FakePool): Renewal {
  if (!pool.published) return { news: "Unpublished" };
  const isDue = pool.renewAt <= Date.now();
  if (isDue) pool.renewAt = Date.now() + pool.renewAfterMs;
  return { news: isDue ? "Renewed" : "None", ...lifeOf(pool) };
}

/** Renews the credentials of a converged pool, if the pool is unchanged since its rollout. */
export function renewAtRest(pool: FakePool, { rest }: { rest: Rest }): RestRenewal {
  const seen = desiredOf(pool);
  if (seen.state !== "Present") return { news: "Unserved" };
  if (seen.desired.observed !== rest.observed || pool.published?.digest !== digestOf(pool)) {
    return { news: "RolloutNeeded" };
  }
  const renewal = renewStanding(pool);
  return renewal.news === "Unpublished" ? { news: "RolloutNeeded" } : renewal;
}

function lifeOf({ renewAt }: FakePool): { renewAt: string; expiresAt: string } {
  return { renewAt: new Date(renewAt).toISOString(), expiresAt: new Date(renewAt + 57_600_000).toISOString() };
}

/**
 * Restores the template of the last good machines, unless another template than the bad one is desired by now; fails if
 * the MachineSet of the last good template was deleted.
 */
export function restoreLastGood(pool: FakePool, { bad }: { bad?: { templateHash: string } }): { changed: boolean } {
  const { lastGood } = pool.rollout;
  const good = pool.sets.find(({ hash }) => hash === lastGood?.templateHash);
  if (!good) throw failure("LastGoodMissing", "Failed to roll back: no MachineSet has the last good template");
  if (bad && ![bad.templateHash, good.hash].includes(hashOf(pool.template))) return { changed: false };
  const goodProfile = Number(/-p(\d+)$/.exec(lastGood?.specHash ?? "")?.[1] ?? 1);
  const isThere = hashOf(pool.template) === good.hash && pool.profileVersion === goodProfile;
  if (isThere) return { changed: false };
  const { image, kubelet, stamp } = good;
  pool.profileVersion = goodProfile;
  pool.template = { image, kubelet };
  pool.change(stamp === undefined ? {} : { stamp });
  return { changed: true };
}

/** Stamps the template with a digest of the given template hash and config digest; a second call changes nothing. */
export function stampTemplate(pool: FakePool, order: Omit<TemplateStamp, "pool">): string {
  const stamp = createHash("sha256").update(`${order.templateHash} ${order.configDigest}`).digest("hex").slice(0, 16);
  if (pool.template.stamp !== stamp) pool.change({ stamp });
  return stamp;
}

/** Returns the outcome that the test has set for a new image with `onImageChange: InPlace`. */
export function keepMachines(pool: FakePool): Keeping {
  return pool.keeping();
}

/** Returns the plan of the real planner, with a limited number of machines per wave, as the real activity does. */
export function planOf(pool: FakePool, { templateHash }: { templateHash?: string }): RolloutPlan {
  const seen = desiredOf(pool);
  if (seen.state !== "Present" || (templateHash !== undefined && seen.desired.templateHash !== templateHash)) {
    throw failure("GenerationStale", "Failed to plan the rollout: the pool has changed");
  }
  const members = pool.members(pool.rules.repair).sort(byTurn);
  const plan = forecast({ now: Date.now(), ...seen, memory: recall(pool), members });
  return { ...plan, waves: plan.waves.map((wave) => ({ ...wave, machines: wave.machines.slice(0, 20) })) };
}

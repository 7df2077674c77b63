/**
 * Publishes what a machine boots with, in the order in which it is needed:
 * config (no credentials) → provisioning secret → kubelet bootstrap kubeconfig → bootstrap secret.
 * The bootstrap secret's revision annotation is the fence: machine-controller orders no instance before it fits.
 */
import { namesOf, specOf } from "../../profiles/mod.ts";
import type { Publication, Published } from "../../workflows/contracts/mod.ts";
import { moot, refused } from "../failures.ts";
import { attempting } from "../kube/status.ts";
import { revisionAnnotation } from "../kube/machine_deployment.ts";
import type { Kube } from "../kube/client.ts";
import { ensureBootReport } from "../pool/report_place.ts";
import { type Artefact, writeConfig, writeSecret } from "./artefacts.ts";
import { type Credentials, credentialsFor } from "./credentials.ts";
import { ensureFinalizer } from "./finalizer.ts";
import { keepProfile } from "./kept_profile.ts";
import { edgeScriptKey, kubeconfigKey, userDataKey } from "./names.ts";
import { claim, ownerOf } from "./ownership.ts";
import type { PublishOrder } from "./publication.ts";
import { areUsable, clusterDigest, fits, restamp, stampOf, timesOf } from "./publication.ts";
import { renderingOf, renderPool } from "./render_config.ts";
import type { RenderedPool, Renderer } from "./render_config.ts";
import { readGoodInputs } from "./read_profile.ts";
import { isEdge, renderSecrets } from "./render_secrets.ts";
import { annotationsOf, inOrder, readStanding, type Standing, type Standings, withEdgeScript } from "./standing.ts";

export interface Publisher extends Renderer {
  /** Life of the credentials that machines boot with; they are renewed at a third of it at the latest. */
  credentialSeconds: number;
}

/** Most characters of a name in Kubernetes. */
const longestName = 253;

/** Makes sure that everything for one revision is published, and does nothing when it already is. */
export function publishConfig(publisher: Publisher, order: PublishOrder): Promise<Published> {
  return attempting(`publish the config of "${ownerOf(order.pool)}"`, async () => {
    const work = await readWork(publisher, order);
    const { rendered, standing } = work;
    checkOrder(order, rendered);
    // All names are claimed before anything is written, so a collision changes nothing.
    for (const each of inOrder(standing)) claim(order.pool, "its artefacts", annotationsOf(each));
    const publication = await ensurePublished(publisher, work);
    // Last, as no machine waits for it. What the last good config was rendered from is kept already.
    const { inputs, goodInputs, profile, settings } = rendered;
    if (publication.news !== "Published" || inputs !== goodInputs) {
      // What is forgotten is decided by what stands now, whatever the run has seen.
      const good = order.seen ? await readGoodInputs(publisher.kube, order.pool) : goodInputs;
      await keepProfile(publisher.kube, { pool: order.pool, inputs, goodInputs: good, profile, settings });
    }
    return { ...publication, rendering: renderingOf(rendered) };
  });
}

interface Work {
  order: PublishOrder;
  rendered: RenderedPool;
  standing: Standings;
}

/**
 * What stands is read before all that decides what is written, and nothing is written but in its place. So who publishes
 * something newer has taken that place by then, and a try that was overtaken, however late it goes on, finds it taken.
 */
async function readWork(publisher: Publisher, order: PublishOrder): Promise<Work> {
  const { kube } = publisher;
  const standing = await readStanding(publisher, order.pool);
  const rendered = await renderPool(publisher, order.pool, order.seen);
  if (!isEdge(rendered)) return { order, rendered, standing };
  // Its turn comes after that of others, so it need not be read before all.
  return { order, rendered, standing: await withEdgeScript(kube, namesOf(order.pool), standing) };
}

async function ensurePublished(publisher: Publisher, work: Work): Promise<Publication> {
  const { kube } = publisher;
  const { order, rendered } = work;
  const standing = inOrder(work.standing);
  const isStanding = fits(standing, order, rendered);
  if (!isStanding || !await areUsable(kube, order.pool, standing)) {
    return await publish(publisher, work, isStanding ? "Renewed" : "Published");
  }
  await restamp(kube, standing, rendered);
  await ensureBootReport(kube, order.pool);
  return { artefacts: [], news: "None", ...timesOf(standing) };
}

// Between rendering and publishing the world may have moved on; then this order must not overwrite newer work.
function checkOrder({ pool, revision, configDigest }: PublishOrder, rendered: RenderedPool): void {
  const now = rendered.deployment.metadata.annotations?.[revisionAnnotation] ?? "";
  if (now !== revision || rendered.digest !== (configDigest ?? rendered.digest)) {
    throw moot("GenerationStale", `Cannot publish revision ${revision} of "${ownerOf(pool)}": it is at ${now} by now`);
  }
  const long = Object.values(namesOf(pool)).find((name) => name.length > longestName);
  if (!long) return;
  const state = `a name made of it has ${long.length} characters, of which Kubernetes takes ${longestName}`;
  throw refused("ObjectInvalid", `Cannot publish the config of "${ownerOf(pool)}": ${state}`);
}

async function publish(publisher: Publisher, work: Work, news: Publication["news"]): Promise<Publication> {
  const { kube, settings, credentialSeconds } = publisher;
  const { order: { pool }, rendered, standing } = work;
  await ensureFinalizer(kube, pool, rendered.deployment);
  await ensureBootReport(kube, pool);
  const credentials = await credentialsFor(kube, {
    ...{ pool, isEdge: isEdge(rendered), lifeSeconds: credentialSeconds, standing },
    clusterDigest: clusterDigest(rendered.facts),
    joinAccount: settings.bootstrapTokenServiceAccountName,
  });
  const artefacts = await writeInOrder(kube, work, credentials);
  const { expiresAt, renewAt } = credentials;
  return { artefacts, news, expiresAt: expiresAt.toISOString(), renewAt: renewAt.toISOString() };
}

async function writeInOrder(
  kube: Kube,
  { order, rendered, standing }: Work,
  credentials: Credentials,
): Promise<Artefact[]> {
  const texts = await renderSecrets(rendered, credentials);
  const { config, secret } = stampOf(order, rendered, credentials);
  const write = (place: Standing, key: string, text: string): Promise<Artefact> =>
    writeSecret(kube, place, { key, text, annotations: secret });
  const { edgeScript } = standing;
  return [
    await writeConfig(kube, standing.config, {
      spec: specOf(rendered.shown),
      digest: rendered.digest,
      annotations: config,
    }),
    await write(standing.provisioning, userDataKey, texts.provisioning),
    await write(standing.kubeconfig, kubeconfigKey, texts.kubeconfig),
    ...(edgeScript && texts.edgeScript ? [await write(edgeScript, edgeScriptKey, texts.edgeScript)] : []),
    await write(standing.bootstrap, userDataKey, texts.bootstrap),
  ];
}

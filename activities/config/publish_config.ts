/**
 * Publishes what a machine boots with, in the order in which it is needed:
 * config (no credentials) → provisioning secret → kubelet bootstrap kubeconfig → bootstrap secret.
 * The bootstrap secret's revision annotation is the fence: machine-controller orders no instance before it fits.
 */
import { namesOf, specOf } from "../../profiles/mod.ts";
import type { Publication } from "../../workflows/contracts/mod.ts";
import { moot, refused } from "../failures.ts";
import { attempting } from "../kube/status.ts";
import { revisionAnnotation } from "../backends/machine_controller/annotations.ts";
import { ensureBootReport } from "../pool/report_place.ts";
import { ensureConfig, ensureSecret } from "./artefacts.ts";
import type { Artefact } from "./artefacts.ts";
import { type Credentials, issueCredentials } from "./credentials.ts";
import { ensureFinalizer } from "./finalizer.ts";
import { keepProfile } from "./kept_profile.ts";
import { edgeScriptKey, kubeconfigKey, userDataKey } from "./names.ts";
import { claim, ownerOf } from "./ownership.ts";
import type { PublishOrder, Standing } from "./publication.ts";
import { areUsable, fits, readStanding, restamp, stampOf, timesOf } from "./publication.ts";
import { renderPool } from "./render_config.ts";
import type { RenderedPool, Renderer } from "./render_config.ts";
import { isEdge, renderSecrets } from "./render_secrets.ts";

export interface Publisher extends Renderer {
  /** Life of the credentials that machines boot with; they are renewed at a third of it at the latest. */
  credentialSeconds: number;
}

/** Most characters of a name in Kubernetes. */
const longestName = 253;

/** Makes sure that everything for one revision is published, and does nothing when it already is. */
export function publishConfig(publisher: Publisher, order: PublishOrder): Promise<Publication> {
  return attempting(`publish the config of "${ownerOf(order.pool)}"`, async () => {
    const { kube } = publisher;
    const rendered = await renderPool(publisher, order.pool);
    checkOrder(order, rendered);
    const standing = await readStanding(publisher, order.pool, isEdge(rendered));
    // All names are claimed before anything is written, so a collision changes nothing.
    for (const { annotations } of standing) claim(order.pool, "its artefacts", annotations);
    const publication = await ensurePublished(publisher, { order, rendered }, standing);
    // Last, as no machine waits for it.
    const { inputs, profile, settings } = rendered;
    await keepProfile(kube, { pool: order.pool, inputs, profile, settings });
    return publication;
  });
}

async function ensurePublished(
  publisher: Publisher,
  { order, rendered }: Omit<Work, "news">,
  standing: Standing[],
): Promise<Publication> {
  const { kube } = publisher;
  const isStanding = fits(standing, order, rendered);
  if (!isStanding || !await areUsable(kube, standing)) {
    return await publish(publisher, { order, rendered, news: isStanding ? "Renewed" : "Published" });
  }
  await restamp(kube, standing, rendered);
  await ensureBootReport(kube, order.pool);
  return { artefacts: [], news: "None", ...timesOf(standing) };
}

// Between rendering and publishing the world may have moved on; then this order must not overwrite newer work.
function checkOrder({ pool, revision, configDigest }: PublishOrder, rendered: RenderedPool): void {
  const now = rendered.deployment.metadata.annotations?.[revisionAnnotation] ?? "";
  if (now !== revision || rendered.digest !== configDigest) {
    throw moot("GenerationStale", `Cannot publish revision ${revision} of "${ownerOf(pool)}": it is at ${now} by now`);
  }
  const long = Object.values(namesOf(pool)).find((name) => name.length > longestName);
  if (!long) return;
  const state = `a name made of it has ${long.length} characters, of which Kubernetes takes ${longestName}`;
  throw refused("ObjectInvalid", `Cannot publish the config of "${ownerOf(pool)}": ${state}`);
}

interface Work {
  order: PublishOrder;
  rendered: RenderedPool;
  news: Publication["news"];
}

async function publish(publisher: Publisher, { order, rendered, news }: Work): Promise<Publication> {
  const { kube, settings, credentialSeconds } = publisher;
  const { pool } = order;
  await ensureFinalizer(kube, pool);
  await ensureBootReport(kube, pool);
  const credentials = await issueCredentials(kube, {
    ...{ pool, isEdge: isEdge(rendered), lifeSeconds: credentialSeconds },
    joinAccount: settings.bootstrapTokenServiceAccountName,
  });
  const artefacts = await writeInOrder(publisher, { order, rendered, credentials });
  const { expiresAt, renewAt } = credentials;
  return { artefacts, news, expiresAt: expiresAt.toISOString(), renewAt: renewAt.toISOString() };
}

async function writeInOrder(
  { kube, profileNamespace }: Publisher,
  { order, rendered, credentials }: { order: PublishOrder; rendered: RenderedPool; credentials: Credentials },
): Promise<Artefact[]> {
  const names = namesOf(order.pool);
  const texts = await renderSecrets(rendered, credentials);
  const { config, secret } = stampOf(order, rendered, credentials);
  const write = (name: string, key: string, text: string): Promise<Artefact> =>
    ensureSecret(kube, { pool: order.pool, annotations: secret }, { name, key, text });
  const spec = specOf(rendered.shown);
  const osc = { name: names.config, namespace: profileNamespace, spec, digest: rendered.digest };
  return [
    await ensureConfig(kube, { pool: order.pool, annotations: config }, osc),
    await write(names.provisioning, userDataKey, texts.provisioning),
    await write(names.kubeletBootstrap, kubeconfigKey, texts.kubeconfig),
    ...(texts.edgeScript ? [await write(names.edgeScript, edgeScriptKey, texts.edgeScript)] : []),
    await write(names.bootstrap, userDataKey, texts.bootstrap),
  ];
}

/**
 * Publishes what a machine boots with, in the order in which it is needed:
 * config (no credentials) → provisioning secret → kubelet bootstrap kubeconfig → bootstrap secret.
 * The bootstrap secret's revision annotation is the fence: machine-controller orders no instance before it fits.
 */
import type { PoolRef, Publication } from "../../workflows/contracts.ts";
import { generateUserData } from "../../profiles/mod.ts";
import type { OsFile } from "../../profiles/mod.ts";
import { moot } from "../failures.ts";
import { configs, readObject } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { revisionAnnotation } from "../pool/annotations.ts";
import { ensureConfig, ensureSecret } from "./artefacts.ts";
import type { Artefact, Stamp } from "./artefacts.ts";
import { issueCredentials } from "./credentials.ts";
import type { Credentials } from "./credentials.ts";
import { ensureFinalizer } from "./finalizer.ts";
import { bootstrapKubeconfig } from "./kubeconfig.ts";
import {
  digestAnnotation,
  expiryAnnotation,
  kubeconfigKey,
  namesOf,
  ownerAnnotation,
  profileVersionAnnotation,
  renewalAnnotation,
  secretRevisionAnnotation,
  secretsNamespace,
  userDataKey,
} from "./names.ts";
import { claim, ownerOf } from "./ownership.ts";
import { renderPool } from "./render_config.ts";
import type { RenderedPool, Renderer } from "./render_config.ts";

export interface Publisher extends Renderer {
  /** Life of the credentials that machines boot with; they are renewed at half of it. */
  credentialSeconds: number;
}

type Annotations = Record<string, string> | undefined;

export interface PublishOrder {
  pool: PoolRef;
  revision: string;
  configDigest: string;
}

/** Makes sure that everything for one revision is published, and does nothing when it already is. */
export function publishConfig(publisher: Publisher, order: PublishOrder): Promise<Publication> {
  return attempting(`publish the config of "${ownerOf(order.pool)}"`, async () => {
    const rendered = await renderPool(publisher, order.pool);
    checkOrder(order, rendered);
    const current = await currentPublication(publisher, order);
    return current ?? await publish(publisher, order, rendered);
  });
}

// Between rendering and publishing the world may have moved on; then this order must not overwrite newer work.
function checkOrder({ pool, revision, configDigest }: PublishOrder, rendered: RenderedPool): void {
  const now = rendered.deployment.metadata.annotations?.[revisionAnnotation];
  if (now === revision && rendered.digest === configDigest) return;
  throw moot("GenerationStale", `Cannot publish revision ${revision} of "${ownerOf(pool)}": it is at ${now} by now`);
}

async function publish(publisher: Publisher, order: PublishOrder, rendered: RenderedPool): Promise<Publication> {
  const { kube } = publisher;
  const { pool } = order;
  const before = await claimAll(publisher, pool);
  await ensureFinalizer(kube, pool);
  const credentials = await issueCredentials(kube, pool, publisher.credentialSeconds);
  const stamp = stampOf(order, rendered, credentials);
  const artefacts = await publishInOrder(publisher, { pool, rendered, credentials, stamp });
  const isRenewal = before.every((annotations) => fits(annotations, order));
  return { artefacts, news: isRenewal ? "Renewed" : "Published", ...times(stamp.annotations) };
}

async function publishInOrder(
  { kube, profileNamespace }: Publisher,
  { pool, rendered, credentials, stamp }: {
    pool: PoolRef;
    rendered: RenderedPool;
    credentials: Credentials;
    stamp: Stamp;
  },
): Promise<Artefact[]> {
  const names = namesOf(pool);
  const { config, digest, cluster } = rendered;
  const token = { path: "/etc/ostler/token", permissions: 600, content: credentials.fetchToken };
  const userData = (phase: "provisioning" | "bootstrap"): string => generateUserData(config, phase, [tokenFile(token)]);
  const kubeconfig = bootstrapKubeconfig(cluster, credentials.bootstrapToken);
  return [
    await ensureConfig(kube, stamp, { name: names.config, namespace: profileNamespace, spec: config, digest }),
    await ensureSecret(kube, stamp, { name: names.provisioning, key: userDataKey, text: userData("provisioning") }),
    await ensureSecret(kube, stamp, { name: names.kubeletBootstrap, key: kubeconfigKey, text: kubeconfig }),
    await ensureSecret(kube, stamp, { name: names.bootstrap, key: userDataKey, text: userData("bootstrap") }),
  ];
}

function tokenFile({ path, permissions, content }: { path: string; permissions: number; content: string }): OsFile {
  return { path, permissions, content: { inline: { data: content } } };
}

function stampOf(order: PublishOrder, rendered: RenderedPool, credentials: Credentials): Stamp {
  return {
    pool: order.pool,
    annotations: {
      [ownerAnnotation]: ownerOf(order.pool),
      [secretRevisionAnnotation]: order.revision,
      [digestAnnotation]: order.configDigest,
      [profileVersionAnnotation]: rendered.profileVersion,
      [expiryAnnotation]: credentials.expiresAt.toISOString(),
      [renewalAnnotation]: halfLife(credentials).toISOString(),
    },
  };
}

/** The publication that stands, when each artefact by itself is of this revision and digest and has half its life left. */
async function currentPublication(publisher: Publisher, order: PublishOrder): Promise<Publication | undefined> {
  const found = await readAnnotations(publisher, order.pool);
  if (!found.every((annotations) => fits(annotations, order))) return undefined;
  // A renewal that stopped half way left some artefacts with the old credentials: the earliest time counts.
  const earliest = found.map(times).sort((a, b) => a.renewAt.localeCompare(b.renewAt))[0];
  if (!earliest || Date.now() >= Date.parse(earliest.renewAt)) return undefined;
  return { artefacts: [], news: "None", ...earliest };
}

function fits(annotations: Annotations, order: PublishOrder): boolean {
  return annotations?.[ownerAnnotation] === ownerOf(order.pool) &&
    annotations[secretRevisionAnnotation] === order.revision &&
    annotations[digestAnnotation] === order.configDigest &&
    annotations[expiryAnnotation] !== undefined && annotations[renewalAnnotation] !== undefined;
}

// All names are claimed before anything is written, so a collision changes nothing.
async function claimAll(publisher: Publisher, pool: PoolRef): Promise<Annotations[]> {
  const found = await readAnnotations(publisher, pool);
  for (const annotations of found) claim(pool, "its artefacts", annotations);
  return found;
}

async function readAnnotations(
  { kube, profileNamespace }: Publisher,
  pool: PoolRef,
): Promise<Annotations[]> {
  const names = namesOf(pool);
  const secret = (name: string) => ifFound(kube.core.readNamespacedSecret({ name, namespace: secretsNamespace }));
  const config = ifFound(readObject(kube, configs, { name: names.config, namespace: profileNamespace }));
  const secrets = [names.provisioning, names.kubeletBootstrap, names.bootstrap].map(secret);
  const found = await Promise.all([...secrets, config]);
  return found.map((object) => object?.metadata?.annotations);
}

function times(annotations: Annotations): { expiresAt: string; renewAt: string } {
  return { expiresAt: annotations?.[expiryAnnotation] ?? "", renewAt: annotations?.[renewalAnnotation] ?? "" };
}

// Of the life that was given, which may be shorter than asked for.
function halfLife({ expiresAt }: Credentials): Date {
  return new Date((Date.now() + expiresAt.getTime()) / 2);
}

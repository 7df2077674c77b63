/**
 * Publishes what a machine boots with. The artefact that a machine reads first is written last: config (no credentials)
 * → provisioning secret and kubelet bootstrap kubeconfig → bootstrap secret. machine-controller orders no instance
 * until the revision annotation of the bootstrap secret is that of the MachineDeployment.
 */
import type { Cluster } from "../cluster.ts";
import { namesOf, specOf } from "../../profiles/mod.ts";
import type { PoolRef, Publication, Published } from "../../workflows/contracts/mod.ts";
import { moot, refused } from "../failures.ts";
import { attempting, sideBySide, statusOf } from "../kube/status.ts";
import { revisionAnnotation } from "../kube/machine_deployment.ts";
import { ensureBootReport } from "../pool/report_place.ts";
import { type AskedProfile, unapprovedAmong } from "../policy/approved_profiles.ts";
import { readPolicies } from "../policy/rules_for.ts";
import { ensureFinalizer, withdraw } from "./clean_up.ts";
import { keepProfile } from "./kept_profile.ts";
import { trustedCas } from "../status/ca_bundle.ts";
import { claim, finalizer, ownerOf } from "./identity.ts";
import { profileDigest } from "./observed.ts";
import { areUsable, clusterDigest, fits, type PublishOrder, restamp, stampOf, timesOf } from "./publication.ts";
import { isEdge, type RenderedPool, type Renderer, renderingOf, renderPool, renderSecrets } from "./render_config.ts";
import { type ConfigSource, readGoodInputs } from "./read_profile.ts";
import {
  annotationsOf,
  type Artefact,
  inOrder,
  leaveStanding,
  nothingStanding,
  readStanding,
  type Standing,
  type Standings,
  takeStanding,
  withEdgeScript,
  writeConfig,
  writeSecret,
  type Written,
} from "./artefacts.ts";
import type { MachineDeployment, RolloutPolicyObject } from "../kube/resources.ts";
import { type Credentials, credentialsFor } from "./credentials.ts";
import { edgeScriptKey, kubeconfigKey, userDataKey } from "./names.ts";
import { hasTokens } from "./published_tokens.ts";

export interface Publisher extends Renderer {
  /** Lifetime of the credentials that machines boot with; they are renewed after a third of it at the latest. */
  credentialSeconds: number;
  /** Whether bootstrap tokens have a group that identifies their pool: see `token_group.ts`. */
  tokensTellPool?: boolean;
}

/** The order, the rendered config and the published artefacts. */
export interface Work {
  order: PublishOrder;
  rendered: RenderedPool;
  standing: Standings;
  /** The artefacts were not read, and count as absent: if one exists after all, the API server refuses to create it. */
  isPresumed?: true;
}

/**
 * Reads the published artefacts first, and then everything that decides what is written. A write replaces only the
 * versions read here, so an outdated attempt, however late it continues, fails once a newer publication has replaced
 * them. Without published artefacts there is no newer publication, so a `source` that was read earlier is used.
 */
export async function readWork(
  publisher: Publisher,
  order: PublishOrder,
  { bootstrap, source }: { bootstrap?: Standing | undefined; source?: ConfigSource | undefined } = {},
): Promise<Work> {
  const { kube } = publisher;
  const standing = await readStanding(publisher, order.pool, bootstrap);
  const isNew = inOrder(standing).every(({ found }) => !found);
  const rendered = await renderPool({ ...publisher, ...(isNew && source ? { source } : {}) }, order.pool, order.seen);
  if (!isEdge(rendered)) return { order, rendered, standing };
  // Reading the edge script last is safe: an outdated attempt fails at the artefacts that are written before the
  // script.
  return { order, rendered, standing: await withEdgeScript(kube, namesOf(order.pool), standing) };
}

/**
 * Does the same as `readWork`, with fewer reads in two cases: if nothing is published for the pool, or if this process
 * remembers the pool's last publication and the order is for another revision. In the second case `source` is used only
 * if it was read after that publication.
 */
async function readWorkFor(publisher: Publisher, order: PublishOrder, source?: ConfigSource): Promise<Work> {
  const { kube, settings } = publisher;
  // Remembered artefacts have no text. If machines join with a service account, the texts are needed, because only they
  // contain its token.
  const isKept = settings.bootstrapTokenServiceAccountName === "";
  if (source && isUntouched(source.deployment)) return await presumeNothing(publisher, order, source);
  const found = isKept ? await takeStanding(kube, order.pool, order.revision) : undefined;
  const left = found?.left;
  if (!left) return await readWork(publisher, order, { bootstrap: found?.bootstrap, source });
  const given = source && left.at < source.since ? { source } : {};
  const rendered = await renderPool({ ...publisher, ...given }, order.pool, order.seen);
  return isEdge(rendered) ? await readWork(publisher, order) : { order, rendered, standing: left.standing };
}

/**
 * Returns whether nothing is published for the pool yet, which a missing finalizer proves: Ostler adds the finalizer
 * before it writes the first artefact.
 */
function isUntouched({ metadata: { finalizers = [] } }: MachineDeployment): boolean {
  return !finalizers.includes(finalizer);
}

async function presumeNothing(publisher: Publisher, order: PublishOrder, source: ConfigSource): Promise<Work> {
  const rendered = await renderPool({ ...publisher, source }, order.pool, order.seen);
  const standing = nothingStanding(order.pool, publisher.profileNamespace, isEdge(rendered));
  return { order, rendered, standing, isPresumed: true };
}

/**
 * Writes the artefacts, and replaces credentials whose renewal is due. With `news` "Renewed", writes only the artefacts
 * with credentials.
 */
export async function writePublication(
  { kube, settings, credentialSeconds, tokensTellPool = false }: Publisher,
  work: Work,
  news: "Renewed" | "Published",
): Promise<Publication> {
  const { order: { pool }, rendered, standing } = work;
  const credentials = await credentialsFor(kube, {
    ...{ pool, isEdge: isEdge(rendered), lifeSeconds: credentialSeconds, tokensTellPool, standing },
    clusterDigest: clusterDigest(rendered.facts),
    joinAccount: settings.bootstrapTokenServiceAccountName,
  });
  // The API server takes some time to create the permissions of the fetch token. So they are awaited only before the
  // first artefact that contains the token is written.
  const granted = credentials.grant();
  const writing = { ...work, credentials, granted, isRenewal: news === "Renewed" };
  const [artefacts] = await sideBySide(writeInOrder(kube, writing), granted);
  const { expiresAt, renewAt } = credentials;
  return { artefacts, news, expiresAt: expiresAt.toISOString(), renewAt: renewAt.toISOString() };
}

interface Writing extends Work {
  credentials: Credentials;
  /** Resolves when the fetch token has its permissions. */
  granted: Promise<void>;
  isRenewal: boolean;
}

async function writeInOrder(kube: Cluster, work: Writing): Promise<Artefact[]> {
  const { order, rendered, standing } = work;
  const { config, provisioning, kubeconfig, edgeScript, bootstrap } = standing;
  const texts = await renderSecrets(rendered, work.credentials);
  const stamp = stampOf(order, rendered, work.credentials);
  const write = (place: Standing, key: string, text: string): Promise<Written> =>
    writeSecret(kube, place, { key, text, annotations: stamp.secret });
  const isLeft = work.isRenewal && isAsWanted(provisioning, texts.provisioning);
  const left = [...(work.isRenewal ? [config] : []), ...(isLeft ? [provisioning] : [])];
  const others = await restamp(kube, left, rendered);
  const spec = { spec: specOf(rendered.shown), digest: rendered.digest, annotations: stamp.config };
  const before = {
    ...(work.isRenewal ? {} : { config: await writeConfig(kube, config, spec) }),
    ...await together({
      ...(isLeft ? {} : { provisioning: write(provisioning, userDataKey, texts.provisioning) }),
      kubeconfig: write(kubeconfig, kubeconfigKey, texts.kubeconfig),
    }),
  };
  // The following artefacts contain the fetch token, so the permissions of the token must exist first.
  await work.granted;
  const written = {
    ...before,
    ...(edgeScript && texts.edgeScript ? { edgeScript: await write(edgeScript, edgeScriptKey, texts.edgeScript) } : {}),
    bootstrap: await write(bootstrap, userDataKey, texts.bootstrap),
  };
  const now = Object.entries(written).map(([which, { standing }]) => [which, standing]);
  if (others === "Unchanged") leaveStanding(kube, order.pool, { ...standing, ...Object.fromEntries(now) as Standings });
  return Object.values(written).map(({ artefact }) => artefact);
}

// Concurrent writes are safe: no artefact refers to the content of another, so a machine may read a mix of versions.
async function together(writes: Record<string, Promise<Written>>): Promise<Record<string, Written>> {
  const written = await sideBySide(...Object.values(writes));
  return Object.fromEntries(Object.keys(writes).map((which, nth) => [which, written[nth] as Written]));
}

// A renewal does not write provisioning user-data that is up to date and has no tokens; most profiles put none into it.
function isAsWanted({ found }: Standing, text: string): boolean {
  return found?.text === text && !hasTokens(text);
}

/** Maximum length of a name in Kubernetes. */
const longestName = 253;

/**
 * Ensures that everything for one revision is published; does nothing if it already is. `source` contains the objects
 * that the caller has read for this order.
 */
export function publishConfig(publisher: Publisher, order: PublishOrder, source?: ConfigSource): Promise<Published> {
  return attempting(`publish the config of "${ownerOf(order.pool)}"`, async () => {
    const work = await readWorkFor(publisher, order, source);
    const { rendered, standing } = work;
    checkOrder(order, rendered);
    // The owners of all artefacts are checked before any write, so that a name collision changes nothing. For a new
    // pool the artefacts were not read: `publish` finds a collision later, and deletes what it has written.
    claimAll(order.pool, standing);
    const publication = await ensurePublished(publisher, work, source?.policies);
    // The profile is stored for rollbacks last, because no machine waits for it. The profile of the last good config is
    // stored already.
    const { inputs, goodInputs, profile, settings } = rendered;
    if (publication.news !== "Published" || inputs !== goodInputs) {
      // Reads again which config is the last good one: it may have changed since the workflow run read it, and the
      // profile of the last good config must be kept.
      const { pool, seen } = order;
      const good = async (): Promise<string> => seen ? await readGoodInputs(publisher.kube, pool) : goodInputs;
      await keepProfile(publisher.kube, { pool, inputs, good, isNew: work.isPresumed === true, profile, settings });
    }
    const trusted = { ...trustedCas(rendered.facts), ...(isFirstOf(work) ? { isFirst: true as const } : {}) };
    return { ...publication, trusted, rendering: renderingOf(rendered) };
  });
}

/**
 * Age (ms) up to which a MachineDeployment counts as new: an older one may have machines that booted from a secret of
 * another program, which has been deleted since.
 */
const newMs = 3_600_000;

/**
 * Returns whether no machine of the pool can have booted yet: the MachineDeployment is new, and machine-controller
 * orders no instance without a bootstrap secret.
 */
function isFirstOf({ rendered: { deployment }, standing: { bootstrap } }: Work): boolean {
  return !bootstrap.found && Date.now() - Date.parse(deployment.metadata.creationTimestamp) < newMs;
}

async function ensurePublished(
  publisher: Publisher,
  work: Work,
  policies?: RolloutPolicyObject[],
): Promise<Publication> {
  const { kube } = publisher;
  const { order, rendered } = work;
  const standing = inOrder(work.standing);
  const isStanding = fits(standing, order, rendered);
  if (!isStanding) await ensureProfileApproved(kube, rendered, policies);
  if (!isStanding || !await areUsable(kube, order.pool, standing)) {
    return await publish(publisher, work, isStanding ? "Renewed" : "Published");
  }
  await restamp(kube, standing, rendered);
  await ensureReportPlace(kube, order.pool, rendered);
  return { artefacts: [], news: "None", ...timesOf(order.pool, standing) };
}

// Until a changed profile is approved, machines boot with the published config, whose credentials are still renewed.
async function ensureProfileApproved(
  kube: Cluster,
  { deployment, line }: RenderedPool,
  policies?: RolloutPolicyObject[],
): Promise<void> {
  const asked = (): AskedProfile[] => line.map(({ ref, object }) => ({ ...ref, digest: profileDigest(object?.spec) }));
  const found = unapprovedAmong(policies ?? await readPolicies(kube, deployment.metadata.namespace), deployment, asked);
  if (!found) return;
  const { name, digest, policy } = found;
  const { namespace } = deployment.metadata;
  throw refused(
    "ProfileNotApproved",
    `Failed to publish the config of "${
      ownerOf(deployment.metadata)
    }": RolloutPolicy "${namespace}/${policy}" does not ` +
      `approve OperatingSystemProfile "${name}"; review its spec and add ${digest} to spec.approvedProfiles`,
  );
}

// The desired state may have changed since the order was made; an outdated order must not overwrite newer artefacts.
function checkOrder({ pool, revision, configDigest }: PublishOrder, rendered: RenderedPool): void {
  const now = rendered.deployment.metadata.annotations?.[revisionAnnotation] ?? "";
  if (now !== revision || rendered.digest !== (configDigest ?? rendered.digest)) {
    throw moot(
      "GenerationStale",
      `Failed to publish revision ${revision} of "${ownerOf(pool)}": the MachineDeployment or its profile ` +
        `has changed; the current revision is ${now}`,
    );
  }
  const long = Object.values(namesOf(pool)).find((name) => name.length > longestName);
  if (!long) return;
  const state =
    `the name of one of its objects would have ${long.length} characters, and Kubernetes allows ${longestName}; ` +
    "use a shorter name for the MachineDeployment";
  throw refused("ObjectInvalid", `Failed to publish the config of "${ownerOf(pool)}": ${state}`);
}

async function publish(publisher: Publisher, work: Work, news: "Renewed" | "Published"): Promise<Publication> {
  const { order: { pool }, rendered } = work;
  await ensureFinalizer(publisher.kube, pool, rendered.deployment);
  const giveReportPlace = (): Promise<void> => ensureReportPlace(publisher.kube, pool, rendered);
  if (!work.isPresumed) await giveReportPlace();
  try {
    const publication = await writePublication(publisher, work, news);
    // The boot report of a new pool is created after the publication, which proves that no other pool has objects of
    // these names.
    if (work.isPresumed) await giveReportPlace();
    return publication;
  } catch (error) {
    // A 409 shows that artefacts exist after all: if they belong to another pool, this publication is withdrawn, else
    // the next attempt reads and replaces them.
    if (work.isPresumed && statusOf(error) === 409) await withdrawIfTaken(publisher, pool);
    throw error;
  }
}

async function withdrawIfTaken(publisher: Publisher, pool: PoolRef): Promise<void> {
  const standing = await readStanding(publisher, pool);
  try {
    claimAll(pool, await withEdgeScript(publisher.kube, namesOf(pool), standing));
  } catch (error) {
    await withdraw(publisher, pool);
    throw error;
  }
}

function claimAll(pool: PoolRef, standing: Standings): void {
  for (const each of inOrder(standing)) {
    claim(pool, `${each.kind} "${each.namespace}/${each.name}"`, annotationsOf(each));
  }
}

// A pool with zero replicas needs no boot report; a later scale-up publishes again, and creates it.
async function ensureReportPlace(kube: Cluster, pool: PoolRef, { deployment }: RenderedPool): Promise<void> {
  if (deployment.spec.replicas !== 0) await ensureBootReport(kube, pool);
}

/**
 * Renews the published credentials, and nothing else, so that a pool whose profile cannot be rendered any more can
 * still scale and replace machines. The config, and the annotations with revision and digests, are unchanged. A missing
 * kubeconfig is created, because its content does not depend on the profile.
 */
import type { Cluster } from "../cluster.ts";
import { ApplicationFailure } from "@temporalio/common";
import { bootstrapKubeconfig, machineCluster, namesOf } from "../../profiles/mod.ts";
import type { DuePool, PoolRef, Renewal, Rest } from "../../workflows/contracts/mod.ts";
import { missing, moot } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import {
  listPage,
  machineDeployments,
  type Page,
  readObject,
  type RolloutObject,
  rollouts,
} from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import {
  annotate,
  annotationsOf,
  inOrder,
  readStanding,
  type Standing,
  type Standings,
  withEdgeScript,
  writeSecret,
} from "./artefacts.ts";
import { type Credentials, credentialsFor, fetchAccount } from "./credentials.ts";
import { readClusterInfo } from "./read_facts.ts";
import {
  clusterDigestAnnotation,
  digestAnnotation,
  edgeScriptKey,
  kubeconfigKey,
  ownerAnnotation,
  secretRevisionAnnotation,
  tokenIdAnnotation,
  userDataKey,
} from "./names.ts";
import { ownerOf } from "./identity.ts";
import { areUsable, clusterDigest, credentialsStamp, timesOf, timesStamp } from "./publication.ts";
import type { Publisher } from "./publish_config.ts";
import { accountOf, accountTokensIn, withToken } from "./published_tokens.ts";
import { memoryOf } from "../status/recall.ts";
import { pinOf } from "../status/pin.ts";
import { inputsIn, observedOf } from "./observed.ts";
import { lineState, readProfileLine } from "./profile_line.ts";
import { profileRef } from "./read_profile.ts";

/** Renews due credentials; returns "Unpublished" if no bootstrap secret of this pool is published. */
export function renewPublished(publisher: Publisher, pool: PoolRef): Promise<Renewal> {
  return attempting(`renew the credentials of "${ownerOf(pool)}"`, async () => {
    const { kube } = publisher;
    const standing = await readOurs(publisher, pool);
    if (!standing) return { news: "Unpublished" };
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    if (!deployment || deployment.metadata.deletionTimestamp) {
      throw moot(
        "GenerationStale",
        `Failed to renew the credentials of "${ownerOf(pool)}": the MachineDeployment was deleted`,
      );
    }
    const found = inOrder(standing).filter(isOurs(pool));
    const isWhole = standing.kubeconfig.found !== undefined;
    if (isWhole && await areUsable(kube, pool, found)) {
      refuseWithout(standing.provisioning, pool);
      return { news: "None", ...timesOf(pool, found) };
    }
    const credentials = await renew(publisher, { pool, standing });
    refuseWithout(standing.provisioning, pool);
    return {
      news: "Renewed",
      expiresAt: credentials.expiresAt.toISOString(),
      renewAt: credentials.renewAt.toISOString(),
    };
  });
}

/** Reads the artefacts before anything else, as a publication does; undefined if this pool owns no bootstrap secret. */
async function readOurs(publisher: Publisher, pool: PoolRef): Promise<Standings | undefined> {
  const standing = await readStanding(publisher, pool);
  if (!isOurs(pool)(standing.bootstrap)) return undefined;
  return await withEdgeScript(publisher.kube, namesOf(pool), standing);
}

function isOurs(pool: PoolRef): (standing: Standing) => boolean {
  return (standing) => annotationsOf(standing)[ownerAnnotation] === ownerOf(pool);
}

// Without the provisioning secret no machine joins, and only rendering creates its content.
function refuseWithout({ name, found }: Standing, pool: PoolRef): void {
  if (found) return;
  const state = "the Secret is missing; the next rollout creates it; the other Secrets are renewed";
  throw missing(`Failed to renew the credentials of "${ownerOf(pool)}" in Secret "${name}": ${state}`);
}

interface Work {
  pool: PoolRef;
  standing: Standings;
}

async function renew(publisher: Publisher, { pool, standing }: Work): Promise<Credentials> {
  const { kube, settings, credentialSeconds, tokensTellPool = false } = publisher;
  const { config, provisioning, kubeconfig, edgeScript, bootstrap } = standing;
  const joinAccount = settings.bootstrapTokenServiceAccountName;
  const isEdge = edgeScript !== undefined && isOurs(pool)(edgeScript);
  const order = { pool, isEdge, joinAccount, lifeSeconds: credentialSeconds, tokensTellPool, standing };
  const credentials = await credentialsFor(kube, order);
  await credentials.grant();
  const ids = inOrder(standing).map((each) => annotationsOf(each)[tokenIdAnnotation] ?? "").filter((id) => id !== "");
  // If the settings name another join account now, the kubeconfig still has a token of the previous account; that token
  // is replaced too.
  const joined = accountTokensIn(kubeconfig.found?.text ?? "").map((token) => accountOf(token)?.account ?? "");
  const accounts = [joinAccount, ...joined].filter((account) => account !== "");
  const texts = new Exchange(kube, { pool, credentials, ids, accounts });
  if (isOurs(pool)(config)) await annotate(kube, config, timesStamp(credentials));
  await texts.write(provisioning, userDataKey, "may have none");
  if (kubeconfig.found) await texts.write(kubeconfig, kubeconfigKey, "has one");
  else await writeKubeconfig(publisher, { pool, standing }, credentials);
  if (edgeScript) await texts.write(edgeScript, edgeScriptKey, "has one");
  await texts.write(bootstrap, userDataKey, "has one");
  return credentials;
}

/** Creates the missing kubeconfig, with revision and digest of the bootstrap secret. */
async function writeKubeconfig(
  { kube, settings, clusterCa }: Publisher,
  { pool, standing: { kubeconfig, bootstrap } }: Work,
  credentials: Credentials,
): Promise<void> {
  const cluster = await readClusterInfo(kube, settings.kubernetesCaBundle || clusterCa());
  const text = bootstrapKubeconfig(machineCluster({ cluster, settings }), credentials.joinToken);
  const { [secretRevisionAnnotation]: revision = "", [digestAnnotation]: digest = "" } = annotationsOf(bootstrap);
  const annotations = {
    ...{ [ownerAnnotation]: ownerOf(pool), [secretRevisionAnnotation]: revision, [digestAnnotation]: digest },
    [clusterDigestAnnotation]: clusterDigest({ cluster, settings }),
    ...credentialsStamp(credentials),
  };
  await writeSecret(kube, kubeconfig, { key: kubeconfigKey, text, annotations });
}

interface Exchanged {
  pool: PoolRef;
  credentials: Credentials;
  /** Ids of the published bootstrap tokens. */
  ids: string[];
  /**
   * Service accounts whose tokens machines join with: the configured account, and that of the token in the published
   * kubeconfig.
   */
  accounts: string[];
}

/** Replaces the credentials in the text of a secret. */
class Exchange {
  constructor(private readonly kube: Kube, private readonly given: Exchanged) {}

  async write(standing: Standing, key: string, expected: "has one" | "may have none"): Promise<void> {
    const { pool, credentials, ids, accounts } = this.given;
    if (!isOurs(pool)(standing)) return;
    const fetching = { accounts: [fetchAccount(pool)], ids: [] };
    const joining = { accounts, ids };
    const fetched = withToken(standing.found?.text ?? "", fetching, credentials.fetchToken);
    const { text, exchanged } = withToken(fetched.text, joining, credentials.joinToken);
    if (expected === "has one" && fetched.exchanged + exchanged === 0) throw unknown(standing);
    await writeSecret(this.kube, standing, { key, text, annotations: credentialsStamp(credentials) });
  }
}

// A secret in which no credentials are found is not written: with the annotations of new credentials, it would count as
// renewed.
function unknown({ name }: Standing): Error {
  return missing(
    `Failed to renew the credentials in Secret "${name}": the Secret contains no token that Ostler can replace; ` +
      "the next rollout writes it again",
  );
}

// Finds the pools whose credentials are due for renewal, by the status of their Rollouts.

interface PoolReader {
  kube: Cluster;
  profileNamespace: string;
}

/** Rollouts per page. */
const pageSize = 100;
/** A call that has found this number of due pools leaves the following pages to the next call. */
const enough = 50;

/**
 * Returns pools whose credentials are due for renewal. Reads Rollouts page by page, the first one at continue token
 * `after`, until enough pools are found; `next` is then the token of the next call, and absent once all pages are read.
 */
export function listDuePools(
  reader: PoolReader,
  { after }: { after?: string },
): Promise<{ pools: DuePool[]; next?: string }> {
  return attempting("find credentials that are due", async () => {
    const pools: DuePool[] = [];
    let next = after;
    do {
      const page = await readPage(reader.kube, next);
      const due = page.items.filter(isDue).map((rollout) => duePoolOrInvalid(reader, rollout));
      pools.push(...(await Promise.all(due)).filter((pool) => pool !== undefined));
      next = page.next;
    } while (next !== undefined && pools.length < enough);
    return { pools, ...(next === undefined ? {} : { next }) };
  });
}

// A continue token expires after some minutes; the next scheduled call finds the rest.
async function readPage(kube: Kube, after: string | undefined): Promise<Page<RolloutObject>> {
  try {
    return await listPage(kube, rollouts, { limit: pageSize, after });
  } catch (error) {
    if (statusOf(error) === 410) return { items: [] };
    throw error;
  }
}

function isDue({ status }: RolloutObject): boolean {
  return Date.parse(status?.credentials?.renewAt ?? "") <= Date.now();
}

// Returns a pool with an invalid object as one that needs a rollout, which reports what is invalid, because one pool
// must not stop the renewal of all others.
async function duePoolOrInvalid(reader: PoolReader, rollout: RolloutObject): Promise<DuePool | undefined> {
  const { namespace, name } = rollout.metadata;
  try {
    return await attempting(`read the pool "${namespace}/${name}"`, () => duePool(reader, rollout));
  } catch (error) {
    if (error instanceof ApplicationFailure && error.nonRetryable) return { namespace, name, publishOnly: false };
    throw error;
  }
}

/**
 * Returns the pool of a Rollout, and how to renew its credentials. For a pool that has not converged, returns undefined
 * if its MachineDeployment is deleted, is being deleted, or has no profile any more.
 */
async function duePool(
  { kube, profileNamespace }: PoolReader,
  rollout: RolloutObject,
): Promise<DuePool | undefined> {
  const { metadata: { namespace, name }, status } = rollout;
  const rest = restOf(rollout);
  // The MachineDeployment of a converged pool is not read here, because its renewal reads all that is needed.
  if (rest) return { namespace, name, publishOnly: false, rest };
  const deployment = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
  const ref = deployment && profileRef(deployment, profileNamespace);
  if (!ref || deployment.metadata.deletionTimestamp) return undefined;
  // After an abort that restored the last good template (recorded in `left`), the MachineDeployment desires what its
  // machines run, so a normal rollout may follow. After a cancellation, `left` may record an earlier rollback, or the
  // cancelled rollback: the MachineDeployment can still desire the cancelled change, so only its credentials are
  // renewed.
  const isRestored = status?.["reason"] === "Aborted" && Boolean(status["left"]);
  if (status?.phase !== "Aborted" || isRestored) return { namespace, name, publishOnly: false };
  // If the desired state has changed since the abort or cancellation, a normal rollout must run, or the change would be
  // lost.
  const observed = observedOf(deployment, lineState(await readProfileLine(kube, ref)));
  return { namespace, name, publishOnly: status.observed === observed };
}

/**
 * Returns the state with which the rollout has converged, which a renewal compares with the current one; undefined for
 * a pool that has not converged or is pinned to its last good profile.
 */
function restOf(rollout: RolloutObject): Rest | undefined {
  const { observed, lastGood } = memoryOf(rollout);
  if (rollout.status?.phase !== "Converged" || pinOf(rollout) || !observed || !lastGood) return undefined;
  return inputsIn(lastGood.specHash) === "" ? undefined : { observed, specHash: lastGood.specHash };
}

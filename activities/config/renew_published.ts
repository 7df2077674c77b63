/**
 * Renews the credentials in what stands published, and nothing else of it, so that a pool whose profile cannot be
 * rendered any more goes on scaling and repairing itself. Revision, config and digests stay as they are, and so does the
 * fence. The kubeconfig needs no profile: where it is gone it is made anew.
 */
import { bootstrapKubeconfig, machineCluster, namesOf } from "../../profiles/mod.ts";
import type { PoolRef, Renewal } from "../../workflows/contracts/mod.ts";
import { missing, moot } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { machineDeployments, readObject } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { annotate, writeSecret } from "./artefacts.ts";
import { type Credentials, credentialsFor, fetchAccount } from "./credentials.ts";
import { readClusterInfo } from "./cluster_info.ts";
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
import { ownerOf } from "./ownership.ts";
import { areUsable, clusterDigest, credentialsStamp, timesOf, timesStamp } from "./publication.ts";
import type { Publisher } from "./publish_config.ts";
import { accountOf, accountTokensIn, withToken } from "./published_tokens.ts";
import { annotationsOf, inOrder, readStanding, type Standing, type Standings, withEdgeScript } from "./standing.ts";

/** Renews what is due; says so where nothing of ours is published. */
export function renewPublished(publisher: Publisher, pool: PoolRef): Promise<Renewal> {
  return attempting(`renew the credentials of "${ownerOf(pool)}"`, async () => {
    const { kube } = publisher;
    const standing = await readOurs(publisher, pool);
    if (!standing) return { news: "Unpublished" };
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    if (!deployment || deployment.metadata.deletionTimestamp) {
      throw moot("GenerationStale", `Cannot renew the credentials of "${ownerOf(pool)}": it is gone`);
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

/** Read before all else, as by who publishes. Without the bootstrap secret no machine boots. */
async function readOurs(publisher: Publisher, pool: PoolRef): Promise<Standings | undefined> {
  const standing = await readStanding(publisher, pool);
  if (!isOurs(pool)(standing.bootstrap)) return undefined;
  return await withEdgeScript(publisher.kube, namesOf(pool), standing);
}

function isOurs(pool: PoolRef): (standing: Standing) => boolean {
  return (standing) => annotationsOf(standing)[ownerAnnotation] === ownerOf(pool);
}

// No machine joins without it, and only who renders knows what it holds.
function refuseWithout({ name, found }: Standing, pool: PoolRef): void {
  if (found) return;
  const state = `secret "${name}" is gone, and comes back with the next publication`;
  throw missing(`Cannot renew all credentials of "${ownerOf(pool)}": ${state}`);
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
  // Who joined by another account until now left its tokens.
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

/** Makes the kubeconfig that is gone, for the revision that all else is of. */
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
  /** Ids of the bootstrap tokens that stand there now. */
  ids: string[];
  /** Service accounts that machines join by, or did. */
  accounts: string[];
}

/** Puts credentials in the place of those that stand in a secret. */
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

// With annotations that promise fresh ones nobody would look again.
function unknown({ name }: Standing): Error {
  return missing(`Cannot renew the credentials in secret "${name}": what it holds has none that are known`);
}

/** The steps with which a reconcile begins: each reads all that the reconcile decides on. */
import type {
  DesiredState,
  PoolQuestion,
  PoolRef,
  PoolSnapshot,
  Published,
  PublishedPool,
} from "../../workflows/contracts/mod.ts";
import { backendOf } from "../backends/registry.ts";
import type { PublishOrder } from "../config/publication.ts";
import { publishConfig, type Publisher } from "../config/publish_config.ts";
import { keepTemplate } from "../config/kept_template.ts";
import { moot } from "../failures.ts";
import { measuredPublish, type Measures } from "../measures.ts";
import { readRollout } from "../status/known_rollouts.ts";
import { memoryOf } from "../status/recall.ts";
import { type DesiredReader, findDesired, type FoundDesired } from "./read_desired.ts";
import { readPool } from "./read_pool.ts";
import { snapshotOf } from "./snapshot.ts";

/**
 * Reads the desired state. Also reads the machines, if the controller has observed that state and the desired template
 * is the one in the question; otherwise `pool` is null.
 */
export async function readRound(
  reader: DesiredReader,
  question: PoolQuestion,
): Promise<{ seen: DesiredState; pool: PoolSnapshot | null }> {
  const { seen, isUnused } = await findDesired(reader, question.pool);
  const isSame = seen.state === "Present" && seen.desired.templateHash === question.templateHash;
  if (!isSame || !seen.desired.settled) return { seen, pool: null };
  return { seen, pool: isUnused ? snapshotOf([], question) : await readPool(reader.kube, question, reader) };
}

/**
 * Reads what earlier runs recorded, and the desired state; publishes the config if the controller has observed that
 * state. `measures` receives the duration of the publication. Throws Moot (GenerationStale) if `revision` is given and
 * is not the desired revision.
 */
export async function publishDesired(
  publisher: Publisher,
  { pool, revision }: { pool: PoolRef; revision?: string },
  measures?: Measures,
): Promise<PublishedPool> {
  const rollout = await readRollout(publisher.kube, pool);
  const earlier = memoryOf(rollout);
  const found = await findDesired(publisher, pool, { rollout: rollout ?? null });
  const { seen, isUnused } = found;
  const desired = seen.state === "Present" && seen.desired.settled ? seen.desired : undefined;
  if (revision !== undefined && desired?.revision !== revision) throw stale(pool, revision);
  if (!desired) return { seen, earlier, published: null, pool: null };
  const order = { pool, revision: desired.revision };
  const specs = { specHash: desired.specHash, goodSpecHash: earlier.lastGood?.specHash ?? "" };
  const published = await measuredPublish(measures, () => publish(publisher, { ...order, seen: specs }, found));
  const { templateHash } = desired;
  const good = earlier.lastGood?.templateHash ?? templateHash;
  // The template is kept after the publication, because no machine waits for it.
  if (found.source && good !== templateHash && !isUnused && !found.keepsGood) {
    await keepTemplate(publisher.kube, found.source.deployment, { good, desired: templateHash });
  }
  return { seen, earlier, published, pool: isUnused ? snapshotOf([], { templateHash, unproven: [], limit: 0 }) : null };
}

function publish(publisher: Publisher, order: PublishOrder, { source }: FoundDesired): Promise<Published> {
  const { pool, revision } = order;
  return backendOf(publisher.kube, pool).boots?.publish({ pool, revision }) ?? publishConfig(publisher, order, source);
}

function stale({ namespace, name }: PoolRef, revision: string): Error {
  const state = "it is not the desired revision any more";
  return moot("GenerationStale", `Failed to publish revision ${revision} of "${namespace}/${name}": ${state}`);
}

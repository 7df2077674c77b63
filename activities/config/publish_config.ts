/**
 * Publishes what a machine boots with, in the order in which it is needed:
 * config (no credentials) → provisioning secret and kubelet bootstrap kubeconfig → bootstrap secret.
 * The bootstrap secret's revision annotation is the fence: machine-controller orders no instance before it fits.
 */
import { namesOf } from "../../profiles/mod.ts";
import type { PoolRef, Publication, Published } from "../../workflows/contracts/mod.ts";
import { moot, refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { attempting, statusOf } from "../kube/status.ts";
import { revisionAnnotation } from "../kube/machine_deployment.ts";
import { ensureBootReport } from "../pool/report_place.ts";
import { withdraw } from "./clean_up.ts";
import { ensureFinalizer } from "./finalizer.ts";
import { keepProfile } from "./kept_profile.ts";
import { claim, ownerOf } from "./ownership.ts";
import type { PublishOrder } from "./publication.ts";
import { areUsable, fits, restamp, timesOf } from "./publication.ts";
import { renderingOf } from "./render_config.ts";
import type { RenderedPool } from "./render_config.ts";
import { readGoodInputs } from "./read_profile.ts";
import { annotationsOf, inOrder, readStanding, type Standings, withEdgeScript } from "./standing.ts";
import { type Publisher, readWorkFor, type Work, writePublication } from "./write_in_order.ts";

export type { Publisher } from "./write_in_order.ts";

/** Most characters of a name in Kubernetes. */
const longestName = 253;

/** Makes sure that everything for one revision is published, and does nothing when it already is. */
export function publishConfig(publisher: Publisher, order: PublishOrder): Promise<Published> {
  return attempting(`publish the config of "${ownerOf(order.pool)}"`, async () => {
    const work = await readWorkFor(publisher, order);
    const { rendered, standing } = work;
    checkOrder(order, rendered);
    // What stands is claimed before anything is written, so a collision changes nothing; of a new pool nobody has looked.
    claimAll(order.pool, standing);
    const publication = await ensurePublished(publisher, work);
    // Last, as no machine waits for it. What the last good config was rendered from is kept already.
    const { inputs, goodInputs, profile, settings } = rendered;
    if (publication.news !== "Published" || inputs !== goodInputs) {
      // What is forgotten is decided by what stands now, whatever the run has seen.
      const { pool, seen } = order;
      const good = async (): Promise<string> => seen ? await readGoodInputs(publisher.kube, pool) : goodInputs;
      await keepProfile(publisher.kube, { pool, inputs, good, isNew: work.isPresumed === true, profile, settings });
    }
    return { ...publication, rendering: renderingOf(rendered) };
  });
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
  await ensureReportPlace(kube, order.pool, rendered);
  return { artefacts: [], news: "None", ...timesOf(order.pool, standing) };
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

async function publish(publisher: Publisher, work: Work, news: "Renewed" | "Published"): Promise<Publication> {
  const { order: { pool }, rendered } = work;
  await ensureFinalizer(publisher.kube, pool, rendered.deployment);
  const giveReportPlace = (): Promise<void> => ensureReportPlace(publisher.kube, pool, rendered);
  if (!work.isPresumed) await giveReportPlace();
  try {
    const publication = await writePublication(publisher, work, news);
    // Until here its name may have been another pool's, with what that one's machines say in it.
    if (work.isPresumed) await giveReportPlace();
    return publication;
  } catch (error) {
    // The next try looks at what stands. Where that is another pool's, nothing of a publication is left beside it.
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
  for (const each of inOrder(standing)) claim(pool, "its artefacts", annotationsOf(each));
}

// Where no machine is wanted none reports; one that is wanted later is a change of scale, which comes here too.
async function ensureReportPlace(kube: Kube, pool: PoolRef, { deployment }: RenderedPool): Promise<void> {
  if (deployment.spec.replicas !== 0) await ensureBootReport(kube, pool);
}

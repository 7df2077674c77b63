/**
 * Sets the boot template from which the cloud creates the machines of a group (such as a launch template of AWS), and
 * records the ID of the previous one for a rollback.
 */
import type { Cluster } from "../../cluster.ts";
import type { Desired, LastGood, PoolRef, Published, RestoreOrder } from "../../../workflows/contracts/mod.ts";
import { type BootTemplate, groupKeyOf } from "../../clouds/driver.ts";
import { moot, refused, unavailable } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import {
  listClusterObjects,
  patchClusterObject,
  patchClusterStatus,
  readClusterObject,
  readObject,
  rollouts,
} from "../../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { type NodeVersion, type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import { marks } from "../../node_version/marks.ts";
import type { BootOrder, Wanted } from "../contract.ts";
import { isOfControlPlane } from "./control_plane.ts";
import { nodesByInstance } from "../../node_version/group_nodes.ts";
import { type Boots, groupFinalizer, ledgerOf, patchLedger, written } from "./ledger.ts";
import { tokenOf } from "./member.ts";
import { type Asked, groupNameOf, needAsked, readAsked, readCloud, readInstances, subjectOfGroup } from "./sight.ts";
import { askedBy, hashOf, type Target } from "../../node_version/version_release.ts";
import { emitEvents } from "../../status/events.ts";
import { memoryOf } from "../../status/recall.ts";
import { z } from "zod";
import { declaredSize } from "./size.ts";
import { isPinOver, observedOf, unpinnedTarget } from "./target.ts";

/** Time of expiry and renewal: none, because machines of scaling groups boot without credentials of Ostler. */
const never = "";

/**
 * Makes new machines of the group boot the group's target. Throws Refused while the NodeVersion is not released to the
 * group and no boot template is recorded.
 */
export function publishBoots(kube: Cluster, { pool, revision }: BootOrder): Promise<Published> {
  return attempting(`set ScalingGroup "${groupNameOf(pool)}" to boot revision "${revision}"`, async () => {
    const asked = await needAsked(kube, pool);
    const { target } = asked;
    if (!target) {
      throw refused(
        "ObjectInvalid",
        `Failed to set what ScalingGroup "${
          groupNameOf(pool)
        }" boots: the NodeVersion is released in stages and has not reached this group yet`,
      );
    }
    const before = asked.ledger.boots?.template;
    const template = await ensureBoots(kube, { pool, asked });
    const news = before === template.id ? "None" : "Published";
    const artefact = { kind: "BootTemplate", name: template.id, digest: hashOf(target), bytes: 0 };
    const rendering = { configDigest: hashOf(target), profileVersion: revision, files: 0, bytes: 0 };
    return { artefacts: [artefact], news, expiresAt: never, renewAt: never, rendering };
  });
}

/**
 * Makes new machines of the group boot the group's target, unless they do already; returns the group's boot template.
 * Throws Refused while the NodeVersion is not released to the group and no boot template is recorded.
 */
export async function ensureBoots(
  kube: Cluster,
  { pool, asked }: { pool: PoolRef; asked: Asked },
): Promise<BootTemplate> {
  const driver = await kube.cloud.driver();
  const { group, ledger, target } = asked;
  const { groupId } = group.spec;
  if (!target) {
    throw refused(
      "ObjectInvalid",
      `Failed to order a machine of ScalingGroup "${
        groupNameOf(pool)
      }": the NodeVersion is released in stages and has not reached this group yet`,
    );
  }
  if (!knownFor(asked, target)) await refuseRivals(kube, group);
  const boots = await driver.template(groupId);
  // The longest token that an order can have is checked before the group is changed, because some clouds cannot store a
  // token of that length.
  driver.checkToken?.({ group: groupId, token: tokenOf(group.metadata.name, Math.max(ledger.tokens.next, 999)) });
  const former = ledger.boots ??
    { image: boots.image, template: boots.id, components: await componentsNow(kube, asked) };
  const template = await templateFor({ kube, asked, target, boots });
  if (template.id !== boots.id) await refuseStale(kube, pool, target);
  const isChanged = hashOf(former) !== hashOf(target);
  const previous = isChanged && !await isFormerGood(kube, pool, { ledger, before: former }) ? { former } : {};
  const pin = isPinOver(group, asked.version) ? { pin: null } : {};
  const now = { ...target, template: template.id };
  await note(kube, group, { now, annotations: written({ boots: now, ...previous, ...pin }) });
  return template;
}

/**
 * Throws Moot if the group's target is not `target` any more. Before that, sets the template of the new target again,
 * because the template of `target` may have just replaced it in the cloud.
 */
async function refuseStale(kube: Cluster, pool: PoolRef, target: Target): Promise<void> {
  const now = await needAsked(kube, pool);
  if (!now.target || hashOf(now.target) === hashOf(target)) return;
  await ensureBoots(kube, { pool, asked: now });
  throw moot(
    "GenerationStale",
    `Failed to set what ScalingGroup "${groupNameOf(pool)}" boots: its target changed meanwhile`,
  );
}

/**
 * Returns whether the recorded previous template is that of the last good revision, and the current one (`before`) is
 * not: the current one did not converge, so the recorded one stays for a rollback.
 */
async function isFormerGood(
  kube: Kube,
  pool: PoolRef,
  { ledger: { former }, before }: { ledger: Asked["ledger"]; before: Boots },
): Promise<boolean> {
  if (!former || hashOf(former) === hashOf(before)) return false;
  return hashOf(former) === (await readLastGood(kube, pool))?.specHash;
}

async function readLastGood(kube: Kube, { namespace, name }: PoolRef): Promise<LastGood | null> {
  return memoryOf(await ifFound(readObject(kube, rollouts, { namespace, name }))).lastGood;
}

/**
 * Throws Refused if another ScalingGroup has the same cloud group: each would apply its own declared size and budget.
 */
async function refuseRivals(
  kube: Cluster,
  { metadata: { name, uid }, spec: { groupId } }: ScalingGroup,
): Promise<void> {
  const all = await kube.cache.read("scaling groups", () => listClusterObjects(kube, scalingGroups));
  const rival = all.find((other) =>
    other.metadata.uid !== uid && groupKeyOf(other.spec.groupId) === groupKeyOf(groupId)
  );
  if (!rival) return;
  const state = `ScalingGroup "${rival.metadata.name}" names the same cloud group "${groupId}"; delete one of them`;
  throw refused("GroupClaimedTwice", `Failed to set what ScalingGroup "${name}" boots: ${state}`);
}

interface Booting {
  kube: Cluster;
  asked: Asked;
  target: Target;
  boots: BootTemplate;
}

/**
 * Returns the boot template of a target if it is recorded, for a rollback or as the current one; otherwise undefined.
 */
function knownFor({ ledger: { pin, boots } }: Asked, target: Target): Boots | undefined {
  return [pin?.boots, boots].find((each) => each && hashOf(each) === hashOf(target));
}

/**
 * Sets and returns the boot template of the group: the one that is recorded for the target, by its ID, or else one with
 * the image of the target.
 */
async function templateFor({ kube, asked, target, boots }: Booting): Promise<BootTemplate> {
  const { groupId: group } = asked.group.spec;
  const driver = await kube.cloud.driver();
  const known = knownFor(asked, target);
  if (known && known.template === boots.id) return boots;
  return known
    ? await driver.ensureTemplate({ group, template: known.template })
    : await driver.ensureImage({ group, image: target.image });
}

/** Maximum length of the name of a ConfigMap, which components are. A compromised node may write a longer text. */
const longestComponents = 253;

/**
 * Returns the Kubernetes components that the annotation of one of the group's nodes names; "" if no node has the
 * annotation.
 */
async function componentsNow(kube: Cluster, { group: { spec } }: Asked): Promise<string> {
  const [{ nodes }, instances] = await Promise.all([
    nodesByInstance(kube),
    readInstances(kube, await kube.cloud.driver(), spec.groupId),
  ]);
  const named = instances.map(({ providerId }) => nodes.get(providerId.toLowerCase())?.components ?? "");
  return named.find(({ length }) => length > 0 && length <= longestComponents) ?? "";
}

/** Records the current boot template in the annotations; writes the status as the Constellation node operator did. */
async function note(
  kube: Kube,
  { metadata, status }: ScalingGroup,
  { now, annotations }: { now: Boots; annotations: Record<string, string | null> },
): Promise<void> {
  const isSame = Object.entries(annotations).every(([key, value]) => metadata.annotations?.[key] === value);
  const finalizers = [...new Set([...(metadata.finalizers ?? []), groupFinalizer])];
  if (!isSame || finalizers.length !== metadata.finalizers?.length) {
    const body = { metadata: { resourceVersion: metadata.resourceVersion, annotations, finalizers } };
    await patchClusterObject(kube, scalingGroups, { name: metadata.name, body }).catch((error: unknown) => {
      if (statusOf(error) !== 409) throw error;
      throw unavailable(
        `Failed to record what ScalingGroup "${metadata.name}" boots: conflict, the object was modified`,
      );
    });
  }
  if (status?.imageReference === now.image) return;
  await patchClusterStatus(kube, scalingGroups, {
    name: metadata.name,
    status: statusWith(now.image, metadata.generation),
  });
}

function statusWith(image: string, generation = 0): object {
  const condition = { type: "Outdated", status: "False", reason: "ScalingGroupNodeImageUpToDate" };
  const message = `New machines of the group boot ${image}`;
  const [observedGeneration, lastTransitionTime] = [generation, new Date().toISOString()];
  return {
    imageReference: image,
    observedGeneration,
    conditions: [{ ...condition, message, observedGeneration, lastTransitionTime }],
  };
}

/** Returns the annotations by which a node names its image and group. */
export function marksOf(image: string, group: string): Record<string, string> {
  return { [marks.image]: image, [marks.group]: group };
}

/**
 * Pins the group to its last good boot template until its NodeVersion names another target; does not change the
 * NodeVersion. Returns whether this changed anything; changes nothing if the order names a bad change and the group has
 * another target. Throws Refused (LastGoodMissing) if no last good boot template is recorded.
 */
export function restoreGroup(kube: Kube, order: RestoreOrder): Promise<{ changed: boolean }> {
  const name = groupNameOf(order.pool);
  return attempting(`roll back ScalingGroup "${name}" to the last good revision`, async () => {
    const asked = await readAsked(kube, order.pool);
    if (!asked || asked.group.metadata.deletionTimestamp) return { changed: false };
    const good = await goodBoots(kube, asked, order);
    const { group, version, target } = asked;
    const isOther = order.bad !== undefined && (!target || hashOf(target) !== order.bad.specHash);
    if (isOther || (target && hashOf(target) === hashOf(good))) return { changed: false };
    // The group may still boot the bad target although its NodeVersion names another one that is not released to it.
    const from = hashOf(unpinnedTarget(group, version) ?? askedBy(version));
    await patchLedger(kube, group.metadata, written({ pin: { from, boots: good } }));
    const message = `Rolled back to image ${good.image}, by ${order.by}: ${order.reason}`;
    await emitEvents(kube, subjectOfGroup(group), [{ type: "Warning", reason: "LastGoodRestored", message }]);
    return { changed: true };
  });
}

/** Ends the pin of a rollback from one of these targets, by their hashes; does nothing for a deleted group. */
export function endPin(kube: Kube, pool: PoolRef, targets: readonly string[]): Promise<void> {
  return attempting(`end the rollback of ScalingGroup "${groupNameOf(pool)}"`, async () => {
    // The NodeVersion is not read, because the activity that writes the status of the Rollout ends the pin, and must
    // succeed without a NodeVersion too.
    const group = await ifFound(readClusterObject(kube, scalingGroups, groupNameOf(pool)));
    const pin = group && ledgerOf(group).pin;
    if (pin && targets.includes(pin.from)) await patchLedger(kube, group.metadata, written({ pin: null }));
  });
}

async function goodBoots(kube: Kube, { ledger: { boots, former } }: Asked, { pool }: RestoreOrder): Promise<Boots> {
  const lastGood = await readLastGood(kube, pool);
  const found = [former, boots].find((each) => each && hashOf(each) === lastGood?.specHash);
  if (found) return found;
  const state = lastGood
    ? "the boot template of its last good revision is not recorded"
    : "none of its rollouts has converged yet";
  throw refused("LastGoodMissing", `Failed to roll back ScalingGroup "${groupNameOf(pool)}": ${state}`);
}

/**
 * Returns the desired state, "Deleting" or "Gone". While the NodeVersion is not released to the group, the group keeps
 * what it boots.
 */
export function readGroupWanted(kube: Cluster, pool: PoolRef): Promise<Wanted> {
  return attempting(`read ScalingGroup "${groupNameOf(pool)}"`, async () => {
    const asked = await readAsked(kube, pool);
    if (!asked) return { state: "Gone" };
    const { metadata } = asked.group;
    if (metadata.deletionTimestamp) return { state: "Deleting" };
    const seen = await readCloud(kube, asked);
    const replicas = declaredSize(seen, asked.ledger);
    const surge = Math.max(0, seen.cloud.max - replicas);
    const special = isOfControlPlane(asked, seen) ? { isControlPlane: true as const } : {};
    const desired = { ...desiredOf(asked, { replicas, surge }), ...special };
    return { state: "Present", desired, labels: metadata.labels ?? {} };
  });
}

function desiredOf({ group, version, target }: Asked, size: { replicas: number; surge: number }): Desired {
  const hash = target ? hashOf(target) : "";
  return {
    ...{
      generation: group.metadata.generation ?? 0,
      settled: true,
      templateHash: hash,
      revision: revisionOf(version, target),
    },
    ...{ observed: observedOf(group, version), change: hash, specHash: hash, actor: actorOf(version) },
    ...{ ...size, image: target?.image ?? "", kubelet: "" },
    profile: { name: version.metadata.name, namespace: "" },
  };
}

/**
 * Returns the image version of the NodeVersion if the target is what the NodeVersion names; for any other target, the
 * last 20 characters of the target's image; "" without a target.
 */
function revisionOf({ spec }: NodeVersion, target: Target | undefined): string {
  if (!target) return "";
  const isAsked = target.image === spec.image && target.components === spec.kubernetesComponentsReference;
  return isAsked && spec.imageVersion !== "" ? spec.imageVersion : target.image.slice(-20);
}

const Written = z.array(z.object({
  manager: z.string().default(""),
  time: z.union([z.string(), z.date()]).transform((value) => new Date(value).getTime()).default(0),
  fieldsV1: z.record(z.string(), z.unknown()).default({}),
}));

/** Returns the field manager that wrote the spec last; "unknown" without one. */
function actorOf({ metadata }: NodeVersion): string {
  const fields = Written.safeParse(metadata.managedFields).data ?? [];
  const writes = fields.filter(({ fieldsV1 }) => "f:spec" in fieldsV1).sort((a, b) => b.time - a.time);
  return writes[0]?.manager || "unknown";
}

/** Has a group boot what it asks for, and keeps what it booted before by the cloud's own id, so that there is a way back. */
import type { PoolRef, Published } from "../../../workflows/contracts/mod.ts";
import { cloudOf } from "../../clouds/cloud_of.ts";
import { type BootTemplate, groupKeyOf } from "../../clouds/driver.ts";
import { refused, unavailable } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { listClusterObjects, patchClusterObject, patchClusterStatus } from "../../kube/cluster_objects.ts";
import { joinedRead } from "../../kube/joined_reads.ts";
import { attempting, statusOf } from "../../kube/status.ts";
import { type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import { marks } from "../../node_version/marks.ts";
import type { BootOrder } from "../contract.ts";
import { nodesByInstance } from "./group_nodes.ts";
import { type Boots, groupFinalizer, written } from "./ledger.ts";
import { tokenOf } from "./member.ts";
import { type Asked, groupNameOf, needAsked, readInstances } from "./sight.ts";
import { hashOf, type Target } from "../../node_version/release.ts";

/** What a machine of a group boots with needs no credentials of ours: it never ends. */
const never = "";

/** Makes it so; nothing is written for a group to which nothing is released yet. */
export function publishBoots(kube: Kube, { pool, revision }: BootOrder): Promise<Published> {
  return attempting(`have scaling group "${groupNameOf(pool)}" boot revision "${revision}"`, async () => {
    const asked = await needAsked(kube, pool);
    const { target } = asked;
    if (!target) {
      throw refused("ObjectInvalid", `Cannot have "${groupNameOf(pool)}" boot anything: nothing is released to it`);
    }
    const before = asked.ledger.boots?.template;
    const template = await ensureBoots(kube, { pool, asked });
    const news = before === template.id ? "None" : "Published";
    const artefact = { kind: "BootTemplate", name: template.id, digest: hashOf(target), bytes: 0 };
    const rendering = { configDigest: hashOf(target), profileVersion: revision, files: 0, bytes: 0 };
    return { artefacts: [artefact], news, expiresAt: never, renewAt: never, rendering };
  });
}

/** Looks at what the group would boot now, and sets it right; gives what it boots then. */
export async function ensureBoots(kube: Kube, { pool, asked }: { pool: PoolRef; asked: Asked }): Promise<BootTemplate> {
  const driver = await cloudOf(kube);
  const { group, ledger, target } = asked;
  const { groupId } = group.spec;
  if (!target) {
    throw refused("ObjectInvalid", `Cannot order a machine of "${groupNameOf(pool)}": nothing is released to it`);
  }
  if (!knownFor(asked, target)) await refuseRivals(kube, group);
  const boots = await driver.template(groupId);
  // Before anything of the group is changed for orders that could not be given.
  driver.checkToken?.({ group: groupId, token: tokenOf(group.metadata.name, Math.max(ledger.tokens.next, 999)) });
  const former = ledger.boots ??
    { image: boots.image, template: boots.id, components: await componentsNow(kube, asked) };
  const template = await templateFor({ kube, asked, target, boots });
  await note(kube, group, { now: { ...target, template: template.id }, before: former, target });
  return template;
}

/** Two objects of one group would each keep to its own numbers and budget: neither takes anything up. */
async function refuseRivals(kube: Kube, { metadata: { name, uid }, spec: { groupId } }: ScalingGroup): Promise<void> {
  const all = await joinedRead(kube, "scaling groups", () => listClusterObjects(kube, scalingGroups));
  const rival = all.find((other) =>
    other.metadata.uid !== uid && groupKeyOf(other.spec.groupId) === groupKeyOf(groupId)
  );
  if (!rival) return;
  const state = `ScalingGroup "${rival.metadata.name}" is the same group "${groupId}" of the cloud: delete one of them`;
  throw refused("GroupClaimedTwice", `Cannot have "${name}" boot anything else: ${state}`);
}

interface Booting {
  kube: Kube;
  asked: Asked;
  target: Target;
  boots: BootTemplate;
}

/** What it was made to boot for a target before, now or on its way back. */
function knownFor({ ledger: { pin, boots } }: Asked, target: Target): Boots | undefined {
  return [pin?.boots, boots].find((each) => each && hashOf(each) === hashOf(target));
}

/** One that was recorded is gone back to by its id, whatever somebody has made of the group since. */
async function templateFor({ kube, asked, target, boots }: Booting): Promise<BootTemplate> {
  const { groupId: group } = asked.group.spec;
  const driver = await cloudOf(kube);
  const known = knownFor(asked, target);
  if (known && known.template === boots.id) return boots;
  return known
    ? await driver.ensureTemplate({ group, template: known.template })
    : await driver.ensureImage({ group, image: target.image });
}

/** Of one of its nodes; "" where no node of the group says. */
async function componentsNow(kube: Kube, { group: { spec } }: Asked): Promise<string> {
  const [nodes, instances] = await Promise.all([
    nodesByInstance(kube),
    readInstances(kube, await cloudOf(kube), spec.groupId),
  ]);
  const named = instances.map(({ providerId }) => nodes.get(providerId.toLowerCase())?.components ?? "");
  return named.find((components) => components !== "") ?? "";
}

/** What is booted, and what was before another target; with what the operator of before showed of it. */
async function note(
  kube: Kube,
  { metadata, status }: ScalingGroup,
  { now, before, target }: { now: Boots; before: Boots; target: Target },
): Promise<void> {
  const annotations = written({ boots: now, ...(hashOf(before) === hashOf(target) ? {} : { former: before }) });
  const isSame = Object.entries(annotations).every(([key, value]) => metadata.annotations?.[key] === value);
  const finalizers = [...new Set([...(metadata.finalizers ?? []), groupFinalizer])];
  if (!isSame || finalizers.length !== metadata.finalizers?.length) {
    const body = { metadata: { resourceVersion: metadata.resourceVersion, annotations, finalizers } };
    await patchClusterObject(kube, scalingGroups, { name: metadata.name, body }).catch((error: unknown) => {
      if (statusOf(error) !== 409) throw error;
      throw unavailable(`Cannot note what scaling group "${metadata.name}" boots: it was written meanwhile`);
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
  const message = `Machines that it makes boot ${image}`;
  const [observedGeneration, lastTransitionTime] = [generation, new Date().toISOString()];
  return {
    imageReference: image,
    observedGeneration,
    conditions: [{ ...condition, message, observedGeneration, lastTransitionTime }],
  };
}

/** Annotations by which nodes say what they are. */
export function marksOf(image: string, group: string): Record<string, string> {
  return { [marks.image]: image, [marks.group]: group };
}

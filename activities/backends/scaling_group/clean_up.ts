/** Takes back what we did to a group that is being deleted: records, marks and cordons; its machines stay as they are. */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { groupFinalizer } from "./ledger.ts";
import { abreast } from "../../kube/abreast.ts";
import type { Kube } from "../../kube/client.ts";
import { patchClusterObject } from "../../kube/cluster_objects.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import { scalingGroups } from "../../kube/update_kinds.ts";
import { spareMember } from "./choice.ts";
import { memberIdOf } from "./member.ts";
import { deleteRecord, readRecords } from "./records.ts";
import { type Asked, groupNameOf, readAsked, readCloud } from "./sight.ts";

/** Machines that are spared at a time. */
const width = 20;

/** All of it; a group that its cloud has no more leaves only records. */
export function releaseGroup(kube: Kube, pool: PoolRef): Promise<void> {
  return attempting(`release the machines of scaling group "${groupNameOf(pool)}"`, async () => {
    const asked = await readAsked(kube, pool);
    if (!asked) return;
    await abreast(width, await chosenOf(kube, asked), (machine) => spareMember(kube, { pool, machine }));
    const { orders, removals } = await readRecords(kube, asked.group.spec.groupId);
    await abreast(width, [...orders, ...removals], ({ record }) => deleteRecord(kube, record));
  });
}

async function chosenOf(kube: Kube, asked: Asked): Promise<string[]> {
  const seen = await readCloud(kube, asked).catch((error: { type?: string }) => {
    if (error.type === "CloudRefused") return undefined;
    throw error;
  });
  const isNode = (providerId: string): boolean => seen?.nodes.has(providerId.toLowerCase()) ?? false;
  return (seen?.instances ?? []).filter(({ providerId }) => isNode(providerId)).map(memberIdOf);
}

/** Lets its object go. */
export async function removeGroupFinalizer(kube: Kube, pool: PoolRef): Promise<void> {
  const asked = await readAsked(kube, pool);
  const { name = "", finalizers = [], resourceVersion } = asked?.group.metadata ?? {};
  if (!finalizers.includes(groupFinalizer)) return;
  const left = finalizers.filter((each) => each !== groupFinalizer);
  const body = { metadata: { resourceVersion, finalizers: left } };
  await attempting(
    `let ScalingGroup "${name}" go`,
    () => ifFound(patchClusterObject(kube, scalingGroups, { name, body })),
  );
}

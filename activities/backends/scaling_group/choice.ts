/** Marks a machine as one that goes, for people to see and for us to remember; and takes that back. */
import type { Kube } from "../../kube/client.ts";
import { asMergePatch } from "../../kube/client.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import { ensureNodeUncordoned } from "../../node/cordon.ts";
import { holderOf, isOwnHold } from "../../node/holder.ts";
import { marks } from "../../node_version/marks.ts";
import type { MemberRef } from "../contract.ts";
import { refuseUnfit } from "./control_plane.ts";
import { chosenAnnotation, type GroupNode } from "./group_nodes.ts";
import { memberIdOf } from "./member.ts";
import { type Asked, type CloudSight, readAsked, readCloud } from "./sight.ts";

/** Marks its node; one without a node is known by what was ordered for it. */
export function chooseMember(kube: Kube, member: MemberRef): Promise<void> {
  return attempting(`choose machine "${member.machine}" to go`, async () => {
    const asked = await readAsked(kube, member.pool);
    if (!asked) return;
    const seen = await seenFor(kube, asked);
    refuseUnfit(asked, seen, `choose machine "${member.machine}" to go`);
    const node = nodeIn(seen, member.machine);
    if (!node || node.chosenBy !== "") return;
    await annotate(kube, node, { [chosenAnnotation]: holderOf(member.pool) });
  });
}

/** Takes mark and cordon back; a mark of the operator of before too, as nothing comes for it any more. */
export function spareMember(kube: Kube, member: MemberRef): Promise<void> {
  return attempting(`spare machine "${member.machine}"`, async () => {
    const node = await nodeOf(kube, member);
    if (!node) return;
    const isOurs = isOwnHold(member.pool, node.chosenBy);
    const stale = {
      ...(isOurs ? { [chosenAnnotation]: null } : {}),
      ...(node.heir === "" ? {} : { [marks.heir]: null }),
    };
    if (Object.keys(stale).length > 0) await annotate(kube, node, stale);
    await ensureNodeUncordoned(kube, { pool: member.pool, node: node.name });
  });
}

async function annotate(
  kube: Kube,
  { name, uid }: GroupNode,
  annotations: Record<string, string | null>,
): Promise<void> {
  await ifFound(kube.core.patchNode({ name, body: { metadata: { uid, annotations } } }, asMergePatch));
}

async function nodeOf(kube: Kube, { pool, machine }: MemberRef): Promise<GroupNode | undefined> {
  const asked = await readAsked(kube, pool);
  return asked && nodeIn(await seenFor(kube, asked), machine);
}

function seenFor(kube: Kube, asked: Asked): Promise<CloudSight> {
  return readCloud(kube, asked);
}

function nodeIn({ instances, nodes }: CloudSight, machine: string): GroupNode | undefined {
  const instance = instances.find((each) => memberIdOf(each) === machine);
  return instance && nodes.get(instance.providerId.toLowerCase());
}

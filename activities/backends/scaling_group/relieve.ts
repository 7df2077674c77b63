/** Has a machine of a control plane hand on what only it has before it goes: the lead of etcd, and a copy of the data. */
import type { Cluster } from "../../cluster.ts";
import type { EtcdSurvey, Relieved } from "../../../workflows/contracts/mod.ts";
import { bounded, doubtsOf } from "../../etcd/judge.ts";
import type { Place } from "../../etcd/place.ts";
import { isLastVoter, leavingDoubts } from "../../etcd/quorum.ts";
import { attempting } from "../../kube/status.ts";
import { openEtcd } from "../../node_version/cluster_etcd.ts";
import type { RelieveMember } from "../contract.ts";
import { isOfControlPlane, placeIn } from "./boots.ts";
import { memberIdOf } from "./member.ts";
import { readAsked, readCloud } from "./sight.ts";

/** One that is lost may go although it is in doubt itself. */
export function relieveMember(
  kube: Cluster,
  { pool, machine, isLost, taken, snapshot }: RelieveMember,
): Promise<Relieved> {
  return attempting(`move the etcd leadership away from machine "${machine}"`, async () => {
    const nothing: Relieved = { state: "Relieved", snapshot: null };
    const asked = await readAsked(kube, pool);
    if (!asked) return nothing;
    const seen = await readCloud(kube, asked);
    const instance = seen.instances.find((each) => memberIdOf(each) === machine);
    if (!instance || !isOfControlPlane(asked, seen)) return nothing;
    const etcd = await openEtcd(kube);
    const survey = await etcd.survey();
    const place = placeIn(survey, seen, instance);
    const doubts = doubtsAbout(survey, place, { isLost, taken });
    if (doubts.length > 0) return { state: "InDoubt", doubts: bounded(doubts) };
    const id = typeof place !== "string" && "member" in place ? place.member.id : undefined;
    if (id !== undefined && !isLost) await etcd.moveLeadership(id);
    if (!snapshot) return nothing;
    const { name, ...keep } = snapshot;
    return { state: "Relieved", snapshot: await etcd.keepSnapshot({ beside: id ?? "", name, keep }) };
  });
}

/**
 * One that is lost serves nobody: that its own member is in doubt is why it goes. A person may take upon himself what is told, but
 * for what would be the end of etcd.
 */
function doubtsAbout(
  survey: EtcdSurvey,
  place: Place,
  { isLost, taken }: { isLost: boolean; taken: readonly string[] },
): string[] {
  const id = typeof place !== "string" && "member" in place ? place.member.id : undefined;
  const unknown = typeof place !== "string" && "unknown" in place
    ? [`cannot determine its etcd member: ${place.unknown}`]
    : [];
  const beside = doubtsOf(survey).filter(({ member }) => !isLost || id === undefined || member !== id);
  const leaving = id === undefined || isLost ? [] : leavingDoubts(survey, id);
  const told = [...leaving, ...unknown, ...beside.map(({ says }) => says)];
  const isEnd = id !== undefined && isLastVoter(survey, id);
  return told.filter((says) => !taken.includes(says) || isEnd);
}

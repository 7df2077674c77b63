/** What a scaling group asks for: what its NodeVersion says, as many as its cloud keeps for it. */
import { z } from "zod";
import type { Desired, PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { attempting } from "../../kube/status.ts";
import type { NodeVersion } from "../../kube/update_kinds.ts";
import type { Wanted } from "../contract.ts";
import { isOfControlPlane } from "./control_plane.ts";
import { type Asked, groupNameOf, readAsked, readCloud } from "./sight.ts";
import { declaredSize } from "./size.ts";
import { hashOf, type Target } from "../../node_version/release.ts";
import { observedOf } from "./target.ts";

/** Gone, being deleted, or present with what it asks for. One that follows nothing yet asks for what it has. */
export function readGroupWanted(kube: Kube, pool: PoolRef): Promise<Wanted> {
  return attempting(`read scaling group "${groupNameOf(pool)}"`, async () => {
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

/** What people call it where that is what is wanted; else a piece of its image. */
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

/** The field manager that wrote its spec last; "unknown" where none is known. */
function actorOf({ metadata }: NodeVersion): string {
  const fields = Written.safeParse(metadata.managedFields).data ?? [];
  const writes = fields.filter(({ fieldsV1 }) => "f:spec" in fieldsV1).sort((a, b) => b.time - a.time);
  return writes[0]?.manager || "unknown";
}

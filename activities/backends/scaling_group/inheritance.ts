/** What a machine leaves to the one that comes for it: read off its node when it is chosen, kept as JSON until that one has it. */
import type { Cluster } from "../../cluster.ts";
import type { V1Node } from "@kubernetes/client-node";
import { z } from "zod";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { ifFound } from "../../kube/status.ts";
import { type HandOverRules, type Inheritance, inheritanceOf } from "./joining_nodes.ts";
import { handOverFor } from "../../policy/hand_over_for.ts";
import type { Asked, CloudSight } from "./sight.ts";

const texts = z.record(z.string(), z.string()).default({});
const Inheritance: z.ZodType<Inheritance> = z.object({
  labels: texts,
  annotations: texts,
  taints: z.array(z.object({ key: z.string(), value: z.string().optional(), effect: z.string() })).default([]),
}).transform(({ taints, ...rest }) => ({
  ...rest,
  taints: taints.map(({ key, value, effect }) => ({ key, effect, ...(value === undefined ? {} : { value }) })),
}));

/** What is kept of a donor, by the rules that hold now; undefined where it has no node. */
export async function inheritanceFor(
  kube: Cluster,
  { pool, asked, seen }: { pool: PoolRef; asked: Asked; seen: CloudSight },
  donor: Instance,
): Promise<Inheritance | undefined> {
  const name = seen.nodes.get(donor.providerId.toLowerCase())?.name;
  const node = name === undefined ? undefined : await ifFound(kube.core.readNode({ name }));
  return node && inheritanceOf(bearing(node), await rulesOf(kube, pool, asked));
}

async function rulesOf(kube: Cluster, { namespace, name }: PoolRef, { group }: Asked): Promise<HandOverRules> {
  const labels = group.metadata.labels ?? {};
  return await handOverFor(kube, { metadata: { namespace, name, labels } });
}

/** What was kept, from wherever it was; nothing where that cannot be read, as anybody may write there. */
export function keptFrom(kept: unknown): Inheritance {
  return Inheritance.safeParse(kept).data ?? { labels: {}, annotations: {}, taints: [] };
}

/** What a node bears. */
export function bearing({ metadata, spec }: V1Node): Inheritance {
  return Inheritance.parse({
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    taints: (spec?.taints ?? []).map(({ key, value, effect }) => ({ key, value, effect })),
  });
}

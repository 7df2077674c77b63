/**
 * The inheritance of a machine: the labels, annotations and taints of its node that the node of its replacement takes
 * over. It is read before the machine is removed, and kept as JSON until it is written on the new node.
 */
import type { Cluster } from "../../cluster.ts";
import type { V1Node } from "@kubernetes/client-node";
import { z } from "zod";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { ifFound } from "../../kube/status.ts";
import { keptByAnnotation, scaleDownDisabledAnnotation } from "../../node/cordon.ts";
import { passingTaints } from "../../node/node_facts.ts";
import { handOverFor, type HandOverRules } from "../../policy/hand_over_for.ts";
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

/** Returns the inheritance of a machine by the current rules of its RolloutPolicy; undefined if it has no node. */
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

/** Parses a recorded inheritance; an unreadable one is empty, because users can edit it. */
export function keptFrom(kept: unknown): Inheritance {
  return Inheritance.safeParse(kept).data ?? { labels: {}, annotations: {}, taints: [] };
}

/** Returns all labels, annotations and taints of a node, from which the rules select the inheritance. */
export function bearing({ metadata, spec }: V1Node): Inheritance {
  return Inheritance.parse({
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    taints: (spec?.taints ?? []).map(({ key, value, effect }) => ({ key, value, effect })),
  });
}

/** Labels, annotations and taints of an old node for its new node. */
export interface Inheritance {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  taints: Taint[];
}

interface Taint {
  key: string;
  value?: string;
  effect: string;
}

/** The changes that give a new node its inheritance; empty if the node has all of it. */
interface HandOver {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** All taints after the change; missing if none is added. */
  taints?: Taint[];
}

/** Taints that are not handed over, because Kubernetes and its controllers write them; the last one marks a cordon. */
const notHandedOver = [...passingTaints, "node.kubernetes.io/unschedulable"];
/** Domains whose labels are not handed over, because Kubernetes and its controllers write them. */
const reserved = ["kubernetes.io", "k8s.io"];

/** Returns what an old node hands over to its new node. */
export function inheritanceOf(donor: Inheritance, rules: HandOverRules): Inheritance {
  const isKept = (key: string): boolean => !isReserved(key) || rules.reservedDomains.includes(domainOf(key));
  // The annotations by which Ostler protected the old node from scale-down are left out, because nothing would remove
  // them from the new node.
  const own = donor.annotations[keptByAnnotation] === undefined ? [] : [keptByAnnotation, scaleDownDisabledAnnotation];
  return {
    labels: rules.labels ? pick(donor.labels, isKept) : {},
    annotations: pick(donor.annotations, (key) => rules.annotations.includes(key) && !own.includes(key)),
    taints: rules.taints ? donor.taints.filter(({ key }) => !notHandedOver.includes(key)) : [],
  };
}

/**
 * Returns the changes to the new node: for the same key the old node's value replaces the new node's, everything else
 * stays.
 */
export function handOver(kept: Inheritance, heir: Inheritance): HandOver {
  const isSame = (one: Taint, other: Taint): boolean => one.key === other.key && one.effect === other.effect;
  const missing = kept.taints.filter((taint) =>
    !heir.taints.some((has) => isSame(has, taint) && (has.value ?? "") === (taint.value ?? ""))
  );
  const others = heir.taints.filter((has) => !missing.some((taint) => isSame(has, taint)));
  return {
    labels: differing(kept.labels, heir.labels),
    annotations: differing(kept.annotations, heir.annotations),
    ...(missing.length > 0 ? { taints: [...others, ...missing] } : {}),
  };
}

function differing(wanted: Record<string, string>, has: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => has[key] !== value));
}

function pick(from: Record<string, string>, isKept: (key: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(from).filter(([key]) => isKept(key)));
}

function isReserved(key: string): boolean {
  const domain = domainOf(key);
  return reserved.some((each) => domain === each || domain.endsWith(`.${each}`));
}

function domainOf(key: string): string {
  return key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
}

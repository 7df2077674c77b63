/** What a new node takes over from the old one that it replaces, by policy; pure, and nothing is to be done twice. */
import { passingTaints } from "../node/node_facts.ts";

/** What a policy has taken over. */
export interface HandOverRules {
  labels: boolean;
  taints: boolean;
  /** Keys of annotations. */
  annotations: readonly string[];
  /** Domains of Kubernetes whose labels are taken over all the same, such as "node-role.kubernetes.io". */
  reservedDomains: readonly string[];
}

/** What was written on a node when it was chosen to go. */
export interface Inheritance {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  taints: Taint[];
}

export interface Taint {
  key: string;
  value?: string;
  effect: string;
}

/** What to write on the heir; empty when it has all of it. */
export interface HandOver {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** All taints that it has then; missing where none is to be added. */
  taints?: Taint[];
}

/** Of Kubernetes, and of its controllers: a cordon comes and goes with a drain. */
const notHandedOver = [...passingTaints, "node.kubernetes.io/unschedulable"];
const reserved = ["kubernetes.io", "k8s.io"];

/** What of a node is kept for its heir. */
export function inheritanceOf(donor: Inheritance, rules: HandOverRules): Inheritance {
  const isKept = (key: string): boolean => !isReserved(key) || rules.reservedDomains.includes(domainOf(key));
  return {
    labels: rules.labels ? pick(donor.labels, isKept) : {},
    annotations: pick(donor.annotations, (key) => rules.annotations.includes(key)),
    taints: rules.taints ? donor.taints.filter(({ key }) => !notHandedOver.includes(key)) : [],
  };
}

/** The donor wins where both say something; what the heir has beside stays. */
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

/** Gate DaemonSets: each selected one that wants a pod on a node has a Ready pod there. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import type { Check } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { selectorText } from "../kube/label_selector.ts";
import { wantsPodOn } from "./daemon_set_fit.ts";
import { some } from "./finding.ts";
import type { Finding } from "./finding.ts";
import { isReady, listPods } from "./pods.ts";
import { nodesOf } from "./subject.ts";
import type { Subject } from "./subject.ts";
import { listDaemonSets } from "./workloads.ts";
import type { DaemonSet } from "./workloads.ts";

type DaemonSets = Extract<Check, { kind: "DaemonSets" }>;

/** A selector that picks nothing is not measured: a typing error must not open the gate. */
export async function lookAtDaemonSets(subject: Subject, check: DaemonSets): Promise<Finding> {
  const sets = await listDaemonSets(subject.kube, check);
  const where = check.namespace === null ? "" : ` in namespace "${check.namespace}"`;
  if (sets.length === 0) {
    return { state: "Unknown", message: `no DaemonSet has the labels "${check.selector}"${where}` };
  }
  const { found, absent } = await nodesOf(subject);
  const ready = await readyPlaces(subject, sets);
  const wanted = found.flatMap((node) => placesOn(node, sets));
  const lacking = wanted.filter(({ place }) => !ready.has(place));
  if (lacking.length > 0) {
    const names = some(lacking.map(({ name }) => name));
    return { state: "False", message: `${lacking.length} of ${wanted.length} daemon pods are not Ready: ${names}` };
  }
  if (absent.length > 0) return { state: "Unknown", message: `node ${some(absent.map(quoted))} is not registered` };
  return { state: "True", message: `${wanted.length} of ${wanted.length} daemon pods are Ready` };
}

function placesOn(node: V1Node, sets: readonly DaemonSet[]): { place: string; name: string }[] {
  const on = node.metadata?.name ?? "";
  return sets.filter(({ spec }) => wantsPodOn(spec.template.spec, node)).map(({ metadata }) => ({
    place: placeOf(metadata.uid, on),
    name: `DaemonSet "${metadata.namespace}/${metadata.name}" on node "${on}"`,
  }));
}

// One node's pods are few; a pool's are found by each set's own selector, and those of one set at a time are kept.
async function readyPlaces({ kube, machine, node }: Subject, sets: readonly DaemonSet[]): Promise<Set<string>> {
  const places = new Set<string>();
  const keep = (pods: readonly V1Pod[]): void => pods.filter(isReady).forEach((pod) => places.add(placeOfPod(pod)));
  if (machine !== undefined) keep(await listPods(kube, { fieldSelector: `spec.nodeName=${node ?? ""}` }));
  else for (const set of sets) keep(await podsOf(kube, set));
  return places;
}

function podsOf(kube: Kube, { metadata, spec }: DaemonSet): Promise<V1Pod[]> {
  return listPods(kube, { namespace: metadata.namespace, labelSelector: selectorText(spec.selector) });
}

function placeOfPod({ metadata, spec }: V1Pod): string {
  const owner = metadata?.ownerReferences?.find(({ kind }) => kind === "DaemonSet");
  return placeOf(owner?.uid ?? "", spec?.nodeName ?? "");
}

function placeOf(uid: string, node: string): string {
  return `${uid} ${node}`;
}

function quoted(name: string): string {
  return `"${name}"`;
}

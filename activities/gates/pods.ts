/** Gate Pods: at least a minimum of pods is selected, and every one of them is Ready. */
import type { V1Pod } from "@kubernetes/client-node";
import type { Check } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { some } from "./finding.ts";
import type { Finding } from "./finding.ts";
import type { Subject } from "./subject.ts";

type Pods = Extract<Check, { kind: "Pods" }>;

/** For a machine, checks the selected pods on its node; for a wave, all selected pods. */
export async function lookAtPods({ kube, machine, node }: Subject, check: Pods): Promise<Finding> {
  const { namespace, selector, min } = check;
  const on = machine === undefined ? {} : { fieldSelector: `spec.nodeName=${node ?? ""}` };
  const pods = (await listPods(kube, { namespace, labelSelector: selector, ...on })).filter(isMeant);
  const unready = pods.filter((pod) => !isReady(pod));
  const where = machine === undefined ? "" : ` on node "${node ?? ""}"`;
  const counted = `${pods.length - unready.length} of ${pods.length} pods "${selector}" are Ready${where}`;
  if (unready.length > 0) {
    const names = some(unready.map((pod) => `"${pod.metadata?.namespace}/${pod.metadata?.name}"`));
    return { state: "False", message: `${counted}, wanted all; not Ready: ${names}` };
  }
  if (pods.length < min) return { state: "False", message: `${counted}, wanted at least ${min}` };
  return { state: "True", message: counted };
}

/** Lists pods page by page; in all namespaces if `namespace` is missing. */
export async function listPods(
  kube: Kube,
  { namespace, ...where }: { namespace?: string; labelSelector?: string; fieldSelector?: string },
): Promise<V1Pod[]> {
  const pods: V1Pod[] = [];
  let from: string | undefined;
  do {
    const request = { ...where, limit: 500, ...(from ? { _continue: from } : {}) };
    const page = namespace === undefined
      ? await kube.core.listPodForAllNamespaces(request)
      : await kube.core.listNamespacedPod({ ...request, namespace });
    pods.push(...page.items);
    from = page.metadata?._continue;
  } while (from);
  return pods;
}

/** Returns whether a pod is Ready and not terminating. */
export function isReady({ metadata, status }: V1Pod): boolean {
  const ready = status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True");
  return metadata?.deletionTimestamp === undefined && ready === true;
}

// Returns whether the gate checks a pod. Skips finished pods, which need not be Ready, and terminating pods, which
// belong to an old machine or version.
function isMeant({ metadata, status }: V1Pod): boolean {
  return metadata?.deletionTimestamp === undefined && !["Succeeded", "Failed"].includes(status?.phase ?? "");
}

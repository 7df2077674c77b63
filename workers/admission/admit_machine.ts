/**
 * New Machines: held from their first moment where their template is not the converged one, by the rule of
 * deploy/kubernetes/admission/hold_new_machines.yaml, which API servers before Kubernetes 1.36 do not know.
 */
import type { Logger } from "@temporalio/common";
import type { ObjectName } from "../../activities/kube/resources.ts";
import { holderOf } from "../../activities/node/holder.ts";
import type { Admission, KubeObject, PatchStep } from "./admission_review.ts";

export interface MachineAdmission {
  /** The template that a pool has converged on; undefined where it has no Rollout, or has not converged yet. */
  convergedHashOf: (rollout: ObjectName) => Promise<string | undefined>;
  log: Pick<Logger, "warn">;
}

/** What makes machine-controller skip a Machine, and what makes it prefer one when it scales down. */
const marks = ["machine-controller.kubermatic.io/initializers", "cluster.k8s.io/delete-machine"] as const;

/** Judges /mutate-v1alpha1-machine: never denies, as pacing is not worth a cluster that cannot make machines. */
export function admitMachine({ convergedHashOf, log }: MachineAdmission): Admission {
  return async ({ operation, object, namespace = "" }) => {
    if (operation !== "CREATE" || !object || object.metadata.annotations?.[marks[0]]) return {};
    const hash = (object.metadata as { labels?: Record<string, string> }).labels?.["machine-template-hash"] ?? "";
    try {
      for (const name of poolsOf(object)) {
        const converged = await convergedHashOf({ namespace, name });
        if (converged && converged !== hash) return { patch: held(object, holderOf({ namespace, name })) };
      }
      return {};
    } catch (error) {
      log.warn("Failed to determine whether a new machine must be held; it can boot", { namespace, error });
      return { warnings: ["Ostler could not determine whether this machine must be held; it can boot"] };
    }
  };
}

interface Owner {
  kind: string;
  apiVersion: string;
  name: string;
}

/** A MachineSet is named for its MachineDeployment and one suffix without a dash: pool-a-7f9c is of pool-a, not of pool. */
function poolsOf({ metadata }: KubeObject): string[] {
  const { ownerReferences = [] } = metadata as { ownerReferences?: Owner[] };
  const sets = ownerReferences.filter(({ kind, apiVersion }) =>
    kind === "MachineSet" && apiVersion.startsWith("cluster.k8s.io/")
  );
  return sets.map(({ name }) => name.slice(0, Math.max(0, name.lastIndexOf("-")))).filter(Boolean);
}

function held({ metadata }: KubeObject, holder: string): PatchStep[] {
  const values = marks.map((mark) => [mark, holder] as const);
  if (!metadata.annotations) {
    return [{ op: "add", path: "/metadata/annotations", value: Object.fromEntries(values) }];
  }
  return values.map(([mark, value]) => ({
    op: "add",
    path: `/metadata/annotations/${mark.replaceAll("/", "~1")}`,
    value,
  }));
}

/**
 * Holds new Machines from their creation unless their template is the converged one. The rule is that of the
 * MutatingAdmissionPolicy in deploy/kubernetes/admission/hold_new_machines.yaml, which API servers before Kubernetes
 * 1.36 do not support.
 */
import type { Logger } from "@temporalio/common";
import type { ObjectName } from "../../activities/kube/resources.ts";
import { holderOf } from "../../activities/node/holder.ts";
import type { Admission, KubeObject, PatchStep } from "./admission_review.ts";

interface MachineAdmission {
  /** Returns the hash of a pool's converged template; undefined without a Rollout, and before the first convergence. */
  convergedHashOf: (rollout: ObjectName) => Promise<string | undefined>;
  log: Pick<Logger, "warn">;
}

/** Annotations that make machine-controller skip a Machine, and choose it first for deletion when it scales down. */
const marks = ["machine-controller.kubermatic.io/initializers", "cluster.k8s.io/delete-machine"] as const;

/** Handles requests on /mutate-v1alpha1-machine; never denies, because pacing matters less than creating machines. */
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

/**
 * Returns the MachineDeployments of a Machine: a MachineSet has the name of its MachineDeployment with one suffix
 * without a dash, so pool-a-7f9c belongs to pool-a, not to pool.
 */
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

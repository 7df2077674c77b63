/** The MachineDeployment as a run read it moments ago. */
import type { Cluster } from "../cluster.ts";
import { revisionAnnotation } from "./machine_deployment.ts";
import type { MachineDeployment } from "./resources.ts";
import { SeenByRun } from "./seen_by_run.ts";

interface SeenDeployment {
  namespace: string;
  name: string;
  uid: string;
  generation: number;
  revision: string;
  /** Desired number of machines. */
  replicas: number;
}

const seen = new SeenByRun<SeenDeployment>();

/** Records the MachineDeployment for the run that has read it. */
export function noteDeployment(kube: Cluster, { metadata, spec }: Pick<MachineDeployment, "metadata" | "spec">): void {
  const { namespace, name, uid, generation = Infinity, annotations } = metadata;
  const revision = annotations?.[revisionAnnotation] ?? "";
  seen.note(kube, { namespace, name, uid, generation, revision, replicas: spec.replicas ?? 1 });
}

/** Returns what this run has read of the MachineDeployment; undefined if that was not moments ago. */
export function seenDeployment(kube: Cluster, pool: { namespace: string; name: string }): SeenDeployment | undefined {
  const found = seen.get(kube);
  return found?.namespace === pool.namespace && found.name === pool.name ? found : undefined;
}

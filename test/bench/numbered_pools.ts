/**
 * MachineDeployments as machine-controller leaves them after it has given their template a revision number: they have
 * the annotation of the revision, a MachineSet of that number, and a status with the observed generation. The bench
 * writes all of these objects itself, so that machine-controller's pace is not measured.
 */
import { abreast } from "../../activities/kube/status.ts";
import { revisionAnnotation, templateHashLabel } from "../../activities/kube/machine_deployment.ts";
import type { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { machineDeployment, poolPath, poolsPath } from "../integration/pool_objects.ts";

const namespace = "kube-system";
const apiVersion = "cluster.k8s.io/v1alpha1";
const setsPath = `/apis/${apiVersion}/namespaces/${namespace}/machinesets`;
/** Concurrent requests. */
const width = 16;

interface Created {
  metadata: { uid: string; generation: number };
  spec: { selector: object; template: object };
}

/** Creates `count` pools without machines, all of revision 1; returns their names. */
export async function createNumbered(api: ApiConnection, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, nth) => `numbered-${nth}`);
  await abreast(width, names, (name) => createOne(api, name));
  return names;
}

async function createOne(api: ApiConnection, name: string): Promise<void> {
  const body = machineDeployment({ name, replicas: 0, annotations: { [revisionAnnotation]: "1" } });
  const pool = await api.call({ method: "POST", path: poolsPath(namespace), body }) as Created;
  await api.call({ method: "POST", path: setsPath, body: machineSet(name, pool) });
  const status = { observedGeneration: pool.metadata.generation, replicas: 0, updatedReplicas: 0 };
  const contentType = "application/merge-patch+json";
  await api.call({ method: "PATCH", path: `${poolPath(name, namespace)}/status`, body: { status }, contentType });
}

function machineSet(name: string, { metadata, spec }: Created): object {
  const labels = { pool: name, [templateHashLabel]: "1" };
  const owner = { apiVersion, kind: "MachineDeployment", name, uid: metadata.uid };
  return {
    ...{ apiVersion, kind: "MachineSet" },
    metadata: {
      ...{ name: `${name}-1`, namespace, labels },
      annotations: { [revisionAnnotation]: "1" },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: spec.template },
  };
}

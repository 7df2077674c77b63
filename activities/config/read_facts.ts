/** Everything that decides what the machines of a pool boot with, read from wherever it lives. */
import { type NodeSettings, parseProviderConfig, referencesOf, type RenderFacts } from "../../profiles/mod.ts";
import type { Kube } from "../kube/client.ts";
import { askedOnce, type RecentReads } from "../kube/recent_reads.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { readClusterInfo } from "./cluster_info.ts";
import { type Environment, readReferences } from "./provider_references.ts";
import { readRegistryAuths } from "./registry_auths.ts";
import { ensureSeed } from "./seed.ts";

export interface FactReader {
  kube: Kube;
  settings: NodeSettings;
  /** PEM of the CA by which this process trusts the API server now: for a cluster that announces none. */
  clusterCa: () => string;
  /** What stands in for values that a provider spec points at and that are not there. */
  environment: Environment;
  /** Namespaces that a provider spec may point into; all that the worker may read where none is named. */
  referenceNamespaces?: readonly string[];
  /** Given, what no pool has for itself may be as old as these are. */
  recent?: RecentReads;
}

/** Reads them all but the machines' own credentials, which are made when they are published. */
export async function readFacts(reader: FactReader, deployment: MachineDeployment): Promise<RenderFacts> {
  const { kube, settings, clusterCa, recent } = reader;
  const { namespace, name, annotations = {} } = deployment.metadata;
  const spec = deployment.spec.template?.spec;
  const known = {
    deployment: { namespace, name, annotations, kubelet: spec?.versions?.kubelet ?? "" },
    provider: parseProviderConfig(spec?.providerSpec?.value, `${namespace}/${name}`),
    settings,
  };
  const [cluster, registryAuths, references, seed] = await Promise.all([
    askedOnce(recent, "cluster", () => readClusterInfo(kube, settings.kubernetesCaBundle || clusterCa())),
    readRegistryAuths(kube, settings.nodeRegistryCredentialsSecret),
    readReferences(reader, referencesOf(known)),
    askedOnce(recent, "seed", () => ensureSeed(kube)),
  ]);
  return { ...known, cluster, secrets: { token: "", bootstrapKubeconfig: "", registryAuths, references, seed } };
}

/** The Kubernetes that a NodeVersion asks for: its version, and the components that are installed on a node. */
import type { UpgradeTrouble } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import type { NodeVersion } from "../kube/update_kinds.ts";
import { componentsIn, componentsKey, upgradeDigestOf } from "./components.ts";
import { plainVersion } from "./versions.ts";

/** Annotation of a NodeVersion; each new value requests another attempt of the upgrade. */
const retryAnnotation = "ostler.dev/retry-kubernetes";
/** Maximum characters of an annotation that are read, because a workflow's history stores the result. */
export const longestText = 200;

/** Returns the value of the annotation with which a person requests another attempt; "" without it. */
export function retryOf({ annotations }: NodeVersion["metadata"]): string {
  return (annotations?.[retryAnnotation] ?? "").slice(0, longestText);
}

/** The namespace of the ConfigMaps with components. */
const namespace = "kube-system";

/** The version and components that a NodeVersion names; `trouble` is why they cannot be installed, null if they can. */
export interface AskedKubernetes {
  version: string;
  /** Name of the ConfigMap. */
  components: string;
  digest: string;
  trouble: UpgradeTrouble | null;
}

/** Reads the desired version and its components. */
export async function readAskedKubernetes(kube: Kube, { metadata, spec }: NodeVersion): Promise<AskedKubernetes> {
  const { kubernetesClusterVersion: version, kubernetesComponentsReference: components } = spec;
  const map = components === ""
    ? undefined
    : await ifFound(kube.core.readNamespacedConfigMap({ namespace, name: components }));
  const list = map?.data?.[componentsKey];
  const digest = upgradeDigestOf(version, list ?? "");
  const asked = { name: metadata.name, version, components };
  return { version, components, digest, trouble: troubleIn(asked, { isThere: map !== undefined, list }) };
}

function troubleIn(
  { name, version, components }: { name: string; version: string; components: string },
  { isThere, list }: { isThere: boolean; list: string | undefined },
): UpgradeTrouble | null {
  if (plainVersion(version) === "") {
    const state = version === "" ? "does not name a Kubernetes version" : `has invalid Kubernetes version "${version}"`;
    const remedy = 'set spec.kubernetesClusterVersion to a version such as "v1.36.1"';
    return { reason: "VersionInvalid", message: `NodeVersion "${name}" ${state}; ${remedy}` };
  }
  const missing = (message: string): UpgradeTrouble => ({ reason: "ComponentsMissing", message });
  if (components === "") {
    const remedy = "set spec.kubernetesComponentsReference to the name of a ConfigMap";
    return missing(`NodeVersion "${name}" does not name its components; ${remedy}`);
  }
  const at = `ConfigMap "${namespace}/${components}"`;
  if (!isThere) return missing(`${at} does not exist; it must list the components of "${version}"`);
  if (list === undefined) return missing(`${at} does not have key "${componentsKey}"`);
  const read = componentsIn(list);
  if ("components" in read) return null;
  return { reason: "ComponentsInvalid", message: `Cannot install the components in ${at}: ${read.fault}` };
}

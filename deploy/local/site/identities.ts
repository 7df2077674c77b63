/** Who writes in a site, each with a kubeconfig of its own. */
import { kubeconfigFor } from "../stack/service_account_kubeconfig.ts";
import type { Stack } from "../stack/stack.ts";

export type Identity = "controller" | "worker" | "machineController" | "cloud";

/** Paths of kubeconfigs, one per identity. */
export type SiteKubeconfigs = Record<Identity, string>;

const identities = {
  controller: { serviceAccount: "ostler-controller", namespace: "ostler-system" },
  worker: { serviceAccount: "ostler-worker", namespace: "ostler-system" },
  machineController: { serviceAccount: "machine-controller", namespace: "kube-system" },
  cloud: { serviceAccount: "simulated-cloud", namespace: "kube-system" },
} as const;

/** Mints a token for each; what is installed with the manifests must be there. */
export async function mintKubeconfigs(stack: Stack): Promise<SiteKubeconfigs> {
  const names = Object.keys(identities) as Identity[];
  const paths = await Promise.all(names.map((name) => kubeconfigFor(stack, identities[name])));
  return Object.fromEntries(names.map((name, at) => [name, paths[at]])) as SiteKubeconfigs;
}

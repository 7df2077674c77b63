import { isIP } from "node:net";
import { z } from "zod";
import {
  certificates,
  commaList,
  optional,
  readBy,
  spacedList,
  text,
  truth,
  truthPairs,
} from "./settings/read_text.ts";
import { setting } from "./settings/setting.ts";

// The kubelet fails to start with a taint that does not have this form.
const taint = /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?(=[A-Za-z0-9._-]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$/;
const address = optional(/^https?:\/\/[^\s/?#]+[^\s]*$/, "must be an http(s) address");
const objectName = optional(/^[a-z0-9.-]+\/[a-z0-9.-]+$/, "must be namespace/name");
const taints = text.refine((value) => value === "" || value.split(",").every((one) => taint.test(one)), {
  error: "must be comma-separated taints such as key=value:NoSchedule",
});
const ips = readBy((value) => {
  const items = value.split(",").map((item) => item.trim()).filter(Boolean);
  return items.length > 0 && items.every((item) => isIP(item) > 0 && !item.includes("%")) ? items : undefined;
}, "must be comma-separated IP addresses");
const digests = readBy((value): Record<string, string> | undefined => {
  const items = value.split(",").map((item) => item.trim()).filter(Boolean);
  if (!items.every((item) => /^[A-Za-z0-9._/-]+=[0-9a-f]{64}$/.test(item))) return undefined;
  return Object.fromEntries(items.map((item) => item.split("=") as [string, string]));
}, "must be path=SHA-256, comma-separated");
const mirrors = spacedList.refine((items) => items.every((item) => /^[^=\s]+=\S+$/.test(item)), {
  error: "must be registry=URL",
});
// Adds the feature gate RotateKubeletServerCertificate, as Operating System Manager does, so that kubelets get their
// serving certificates from the cluster.
const gates = truthPairs.transform((given): Record<string, boolean> => ({
  RotateKubeletServerCertificate: true,
  ...given,
}));

/** The settings for all machines of a cluster: flags and defaults of Operating System Manager, and four of Ostler. */
export const NodeSettings = z.object({
  clusterDns: setting(ips, "10.10.10.10", { description: "Use these cluster DNS addresses, comma-separated" }),
  externalCloudProvider: setting(truth, "false", {
    description: "Assume an external cloud controller manager",
    form: "truth",
  }),
  initialTaints: setting(taints, "", { description: "Register nodes with these taints" }),
  pauseImage: setting(text, "", { description: "Use this sandbox image in containerd" }),
  nodeHttpProxy: setting(text, "", { description: "Use this HTTP proxy on machines" }),
  nodeNoProxy: setting(text, ".svc,.cluster.local,localhost,127.0.0.1", {
    description: "Bypass the proxy for these hosts, comma-separated",
  }),
  nodeKubeletFeatureGates: setting(gates, "RotateKubeletServerCertificate=true", {
    description: "Set these kubelet feature gates; adds RotateKubeletServerCertificate",
  }),
  nodeInsecureRegistries: setting(commaList, "", {
    description: "Skip certificate checks for these registries, `host[:port]`, comma-separated",
  }),
  nodeRegistryMirrors: setting(commaList, "", {
    description: "Use these mirrors: `host` (for docker.io) or `registry=host`, comma-separated",
  }),
  nodeContainerdRegistryMirrors: setting(mirrors, "", {
    description:
      "Add a mirror as `registry=URL`; `?kubermatic=override_path%3Dtrue` uses the path of the URL unchanged",
    form: "repeated",
  }),
  deviceOwnershipFromSecurityContext: setting(truth, "false", {
    description: "Let containerd assign devices to the container's user",
    form: "truth",
  }),
  restrictOomScoreAdj: setting(truth, "false", {
    description: "Let no container have a lower OOM score than containerd; for machines without CAP_SYS_RESOURCE",
    form: "truth",
  }),
  kubernetesCaBundle: setting(certificates, "", {
    description: "Read the API server's CA from this file, in PEM (default the cluster's CA)",
    form: "file",
  }),
  hostCaBundle: setting(certificates, "", {
    description: "Add CAs from this PEM file to machines",
    form: "file",
  }),
  overrideBootstrapKubeletApiserver: setting(address, "", {
    description: "Use this API server address on machines (default from ConfigMap kube-public/cluster-info)",
  }),
  nodeRegistryCredentialsSecret: setting(objectName, "", {
    description: "Read registry credentials from Secret `namespace/name`",
  }),
  bootstrapTokenServiceAccountName: setting(objectName, "", {
    description: "Bootstrap kubelets with the token of ServiceAccount `namespace/name` (default bootstrap tokens)",
  }),
  clusterDomain: setting(optional(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, "must be a domain"), "cluster.local", {
    description: "Use this cluster domain",
  }),
  binariesUrl: setting(address, "", {
    description: "Download all binaries from this base URL (default public URLs)",
  }),
  binariesDigests: setting(digests, "", {
    description: "Expect these digests of binaries: `path=SHA-256`, comma-separated; required for an http mirror",
  }),
});
/** The settings after reading; the two CA bundles are PEM, not paths. */
export type NodeSettings = z.infer<typeof NodeSettings>;

/** The default settings. */
export const defaultNodeSettings: NodeSettings = NodeSettings.parse({});

/** Returns conflicts between settings that are valid on their own. */
export function conflictsOf({ nodeInsecureRegistries, nodeContainerdRegistryMirrors }: NodeSettings): string[] {
  const isAny = (registry: string): boolean => registry === "*" || registry === "_default";
  if (!nodeInsecureRegistries.some(isAny)) return [];
  if (nodeContainerdRegistryMirrors.some((mirror) => isAny(mirror.slice(0, mirror.indexOf("="))))) return [];
  return ['node-insecure-registries: "*" requires a mirror "*=URL" in node-containerd-registry-mirrors'];
}

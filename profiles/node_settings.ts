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

// The kubelet refuses to start with a taint of another form.
const taint = /^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?(=[A-Za-z0-9._-]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$/;
const address = optional(/^https?:\/\/[^\s/?#]+[^\s]*$/, "must be an http(s) address");
const objectName = optional(/^[a-z0-9.-]+\/[a-z0-9.-]+$/, "must be namespace/name");
const taints = text.refine((value) => value === "" || value.split(",").every((one) => taint.test(one)), {
  error: "must be taints such as key=value:NoSchedule, joined by commas",
});
const ips = readBy((value) => {
  const items = value.split(",").map((item) => item.trim()).filter(Boolean);
  return items.length > 0 && items.every((item) => isIP(item) > 0 && !item.includes("%")) ? items : undefined;
}, "must be IP addresses joined by commas");
const mirrors = spacedList.refine((items) => items.every((item) => /^[^=\s]+=\S+$/.test(item)), {
  error: "must be registry=URL",
});
// Operating System Manager adds it too: kubelets get their serving certificates from the cluster.
const gates = truthPairs.transform((given): Record<string, boolean> => ({
  RotateKubeletServerCertificate: true,
  ...given,
}));

/** What an administrator sets for all machines of a cluster: Operating System Manager's flags and defaults, and three of ours. */
export const NodeSettings = z.object({
  clusterDns: setting(ips, "10.10.10.10", { description: "IP addresses of the cluster's DNS" }),
  externalCloudProvider: setting(truth, "false", {
    description: "a cloud controller manager of its own runs in the cluster",
    form: "truth",
  }),
  initialTaints: setting(taints, "", { description: "taints of new nodes" }),
  pauseImage: setting(text, "", { description: "image of containerd's sandbox" }),
  nodeHttpProxy: setting(text, "", { description: "proxy of the machines" }),
  nodeNoProxy: setting(text, ".svc,.cluster.local,localhost,127.0.0.1", {
    description: "what machines reach without the proxy",
  }),
  nodeKubeletFeatureGates: setting(gates, "RotateKubeletServerCertificate=true", {
    description: "feature gates of the kubelets; that of the default is added",
  }),
  nodeInsecureRegistries: setting(commaList, "", {
    description: "registries, perhaps with ports, whose certificates are not checked",
  }),
  nodeRegistryMirrors: setting(commaList, "", {
    description: "mirrors as `host` for docker.io or `registry=host`",
  }),
  nodeContainerdRegistryMirrors: setting(mirrors, "", {
    description: "one mirror as `registry=URL`; `?kubermatic=override_path%3Dtrue` takes the URL's path as it is",
    form: "repeated",
  }),
  deviceOwnershipFromSecurityContext: setting(truth, "false", {
    description: "containerd gives devices to the user of the container",
    form: "truth",
  }),
  restrictOomScoreAdj: setting(truth, "false", {
    description: "containerd keeps the OOM score of containers at its own; for machines that lack CAP_SYS_RESOURCE",
    form: "truth",
  }),
  kubernetesCaBundle: setting(certificates, "", {
    description: "PEM file with the API server's CA; else the cluster's own",
    form: "file",
  }),
  hostCaBundle: setting(certificates, "", {
    description: "PEM file with CAs that the machines trust besides",
    form: "file",
  }),
  overrideBootstrapKubeletApiserver: setting(address, "", {
    description: "address of the API server for machines; else what the cluster announces",
  }),
  nodeRegistryCredentialsSecret: setting(objectName, "", {
    description: "secret `namespace/name` with logins at registries",
  }),
  bootstrapTokenServiceAccountName: setting(objectName, "", {
    description: "service account `namespace/name` whose token bootstraps kubelets; else bootstrap tokens",
  }),
  clusterDomain: setting(optional(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, "must be a domain"), "cluster.local", {
    description: "the cluster's domain",
  }),
  binariesUrl: setting(address, "", { description: "base URL of every download; else the public ones" }),
});
/** In settings that were read, the two bundles are PEM, not paths. */
export type NodeSettings = z.infer<typeof NodeSettings>;

/** What stands when nobody sets anything. */
export const defaultNodeSettings: NodeSettings = NodeSettings.parse({});

/** What is wrong with settings that are right one by one. */
export function conflictsOf({ nodeInsecureRegistries, nodeContainerdRegistryMirrors }: NodeSettings): string[] {
  const isAny = (registry: string): boolean => registry === "*" || registry === "_default";
  if (!nodeInsecureRegistries.some(isAny)) return [];
  if (nodeContainerdRegistryMirrors.some((mirror) => isAny(mirror.slice(0, mirror.indexOf("="))))) return [];
  return ['node-insecure-registries: "*" needs a mirror "*=URL" in node-containerd-registry-mirrors'];
}

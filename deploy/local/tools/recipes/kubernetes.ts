import { kubeletVersions } from "../machine_versions.ts";
import type { Recipe } from "../recipe.ts";

/** Modules that Kubernetes requires at v0.0.0; one that is missing here fails as "unknown revision v0.0.0", one too many does no harm. */
const staging = [
  "api",
  "apiextensions-apiserver",
  "apimachinery",
  "apiserver",
  "cli-runtime",
  "client-go",
  "cloud-provider",
  "cluster-bootstrap",
  "code-generator",
  "component-base",
  "component-helpers",
  "controller-manager",
  "cri-api",
  "cri-client",
  "cri-streaming",
  "csi-translation-lib",
  "dynamic-resource-allocation",
  "endpointslice",
  "externaljwt",
  "kms",
  "kube-aggregator",
  "kube-controller-manager",
  "kube-proxy",
  "kube-scheduler",
  "kubectl",
  "kubelet",
  "metrics",
  "mount-utils",
  "pod-security-admission",
  "sample-apiserver",
  "sample-cli-plugin",
  "sample-controller",
  "streaming",
];

/** What all programs of one Kubernetes release, such as `v1.36.1`, are built with. */
function builtFrom(version: string): Pick<Recipe, "ldflags" | "requires" | "replaces"> {
  const [, minor = ""] = version.split(".");
  // Without these the server calls itself v0.0.0-master and clients refuse it.
  const stamps = { gitVersion: version, gitMajor: "1", gitMinor: minor };
  const stampFlags = Object.entries(stamps).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`);
  return {
    ldflags: ["-s -w", ...stampFlags].join(" "),
    requires: [`k8s.io/kubernetes ${version}`],
    replaces: staging.map((name) => `k8s.io/${name} => k8s.io/${name} ${version.replace("v1.", "v0.")}`),
  };
}

/** What one Kubernetes release has for control planes; each is built when it is asked for. */
export const kubernetes: Recipe = {
  name: "kubernetes",
  packages: {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    kubectl: "k8s.io/kubernetes/cmd/kubectl",
    kubeadm: "k8s.io/kubernetes/cmd/kubeadm",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
  },
  ...builtFrom("v1.36.1"),
};

/** The kubelet that machines are changed to; what a build of the API server left in Go's cache serves it too. */
export const kubelet36: Recipe = {
  name: "kubelet-1.36",
  packages: { "kubelet-1.36": "k8s.io/kubernetes/cmd/kubelet" },
  ...builtFrom(kubeletVersions["kubelet-1.36"]),
  target: "linux",
};

/** The kubelet that machines run before. */
export const kubelet35: Recipe = {
  name: "kubelet-1.35",
  packages: { "kubelet-1.35": "k8s.io/kubernetes/cmd/kubelet" },
  ...builtFrom(kubeletVersions["kubelet-1.35"]),
  target: "linux",
};

import { kubeletVersions } from "../machine_versions.ts";
import type { Recipe } from "../recipe.ts";

/**
 * Modules that Kubernetes requires at v0.0.0; if an entry is missing, the build fails with "unknown revision v0.0.0",
 * and an extra entry is harmless.
 */
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

/** Returns the build settings of all programs of one Kubernetes release, such as `v1.36.1`. */
function builtFrom(version: string): Pick<Recipe, "ldflags" | "requires" | "replaces"> {
  const [, minor = ""] = version.split(".");
  // Without these flags the server reports version v0.0.0-master, and clients refuse it.
  const stamps = { gitVersion: version, gitMajor: "1", gitMinor: minor };
  const stampFlags = Object.entries(stamps).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`);
  return {
    ldflags: ["-s -w", ...stampFlags].join(" "),
    requires: [`k8s.io/kubernetes ${version}`],
    replaces: staging.map((name) => `k8s.io/${name} => k8s.io/${name} ${version.replace("v1.", "v0.")}`),
  };
}

/** Programs of control planes from one Kubernetes release; each program is built on demand. */
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

/** Programs of control planes before an upgrade of Kubernetes. */
export const kubernetes35: Recipe = {
  name: "kubernetes-1.35",
  packages: {
    "kube-apiserver-1.35": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager-1.35": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubeadm-1.35": "k8s.io/kubernetes/cmd/kubeadm",
    "kube-scheduler-1.35": "k8s.io/kubernetes/cmd/kube-scheduler",
  },
  ...builtFrom(kubeletVersions["kubelet-1.35"]),
};

/** The kubelet to which machines are updated; its build shares Go's build cache with the API server. */
export const kubelet36: Recipe = {
  name: "kubelet-1.36",
  packages: { "kubelet-1.36": "k8s.io/kubernetes/cmd/kubelet" },
  ...builtFrom(kubeletVersions["kubelet-1.36"]),
  target: "linux",
};

/** The kubelet that machines run before the update. */
export const kubelet35: Recipe = {
  name: "kubelet-1.35",
  packages: { "kubelet-1.35": "k8s.io/kubernetes/cmd/kubelet" },
  ...builtFrom(kubeletVersions["kubelet-1.35"]),
  target: "linux",
};

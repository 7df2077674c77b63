import type { Recipe } from "../recipe.ts";

const minor = 36;
const patch = 1;

/** Modules that Kubernetes requires at v0.0.0; one that is missing here fails as "unknown revision v0.0.0". */
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

// Without these the server calls itself v0.0.0-master and clients refuse it.
const stamps = { gitVersion: `v1.${minor}.${patch}`, gitMajor: "1", gitMinor: `${minor}` };

/** kube-apiserver, kube-controller-manager and kubectl of one Kubernetes release. */
export const kubernetes: Recipe = {
  name: "kubernetes",
  packages: {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    kubectl: "k8s.io/kubernetes/cmd/kubectl",
  },
  ldflags: [
    "-s -w",
    ...Object.entries(stamps).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
  ]
    .join(" "),
  requires: [`k8s.io/kubernetes v1.${minor}.${patch}`],
  replaces: staging.map((name) => `k8s.io/${name} => k8s.io/${name} v0.${minor}.${patch}`),
};

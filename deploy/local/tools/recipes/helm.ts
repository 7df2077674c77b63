import type { Recipe } from "../recipe.ts";

const version = "v3.21.4";
/** The minor version of the Kubernetes modules that it is built with: what it takes a cluster for that it is not told of. */
const kubernetesMinor = "36";

const stamps = {
  "internal/version.version": version,
  "pkg/chartutil.k8sVersionMajor": "1",
  "pkg/chartutil.k8sVersionMinor": kubernetesMinor,
  "pkg/lint/rules.k8sVersionMajor": "1",
  "pkg/lint/rules.k8sVersionMinor": kubernetesMinor,
};

/** Helm 3, which renders deploy/chart. */
export const helm: Recipe = {
  name: "helm",
  packages: { helm: "helm.sh/helm/v3/cmd/helm" },
  ldflags: ["-s -w", ...Object.entries(stamps).map(([key, value]) => `-X helm.sh/helm/v3/${key}=${value}`)].join(" "),
  requires: [`helm.sh/helm/v3 ${version}`],
  replaces: [],
};

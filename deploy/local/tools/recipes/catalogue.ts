import type { Recipe } from "../recipe.ts";
import type { ToolName } from "../tool_name.ts";
import { cosign } from "./cosign.ts";
import { cniPlugins, containerd, crictl, runc } from "./machine_programs.ts";
import { kubelet35, kubelet36, kubernetes, kubernetes35 } from "./kubernetes.ts";
import { registry } from "./registry.ts";

/**
 * Modules with the KubeletConfiguration types of minor versions before that of `kubernetes`; Go allows several versions
 * of a module only under different names.
 */
const kubeletTypes = {
  30: "v0.30.14",
  31: "v0.31.14",
  32: "v0.32.13",
  33: "v0.33.12",
  34: "v0.34.10",
  35: "v0.35.8",
};

function sources(...names: string[]): Record<string, string> {
  const read = (name: string): string => Deno.readTextFileSync(new URL(`./checkers/${name}`, import.meta.url));
  return Object.fromEntries(["main.go", ...names].map((name) => [name, read(name)]));
}

/** A program that validates files for containerd and Ignition with the code of containerd and Ignition. */
export const checkMachineFiles: Recipe = {
  name: "check-machine-files",
  packages: { "check-machine-files": "." },
  ldflags: "-s -w",
  requires: [
    "github.com/containerd/containerd/v2 v2.2.9",
    "github.com/coreos/ignition v0.35.0",
    "github.com/ajeddeloh/go-json v0.0.0",
  ],
  replaces: ["github.com/ajeddeloh/go-json => ./go_json"],
  files: sources(
    ...["containerd.go", "containerd_hosts.go", "containerd_log.go", "ignition.go", "toml.go"],
    ...["go_json/go.mod", "go_json/node.go"],
  ),
};

/**
 * A program that validates a KubeletConfiguration with the kubelet's code; separate from `checkMachineFiles`, so that
 * it is built with the modules of Kubernetes alone, and reuses Go's build cache of them.
 */
const checkKubeletConfig: Recipe = {
  name: "check-kubelet-config",
  packages: { "check-kubelet-config": "." },
  ldflags: "-s -w",
  requires: [
    ...kubernetes.requires,
    ...Object.keys(kubeletTypes).map((minor) => `ostler.dev/kubelet${minor} v0.0.0`),
  ],
  replaces: [
    ...kubernetes.replaces,
    ...Object.entries(kubeletTypes).map(([minor, version]) =>
      `ostler.dev/kubelet${minor} => k8s.io/kubelet ${version}`
    ),
  ],
  files: sources("kubelet.go", "kubelet_flags.go"),
};

const machineControllerVersion = "v1.66.0";
const provider = Deno.readTextFileSync(new URL("./machine_controller_provider.go.txt", import.meta.url));

/**
 * machine-controller with the providers kubevirt and fake only, because provider anexia needs a module that not every
 * module proxy serves.
 */
const machineController: Recipe = {
  name: "machine-controller",
  packages: { "machine-controller": "./cmd/machine-controller" },
  ldflags: "-s -w",
  requires: [],
  replaces: [],
  source: {
    module: `k8c.io/machine-controller@${machineControllerVersion}`,
    keep: ["go.mod", "go.sum", "cmd", "pkg"],
    drop: ["pkg/cloudprovider/provider/anexia"],
    write: { "pkg/cloudprovider/provider.go": provider },
    modEdits: [
      "-dropreplace=k8c.io/machine-controller/sdk",
      "-droprequire=go.anx.io/go-anxcloud",
      `-require=k8c.io/machine-controller/sdk@${machineControllerVersion}`,
    ],
  },
};

/** The Temporal CLI, which includes the server and the web UI. */
const temporal: Recipe = {
  name: "temporal",
  packages: { temporal: "github.com/temporalio/cli/cmd/temporal" },
  ldflags: "-s -w -X github.com/temporalio/cli/temporalcli.Version=1.5.1",
  requires: ["github.com/temporalio/cli v1.5.1"],
  replaces: [],
};

/**
 * The Temporal server, in the version that the CLI includes but with all supported databases, and the tool that creates
 * its database schema.
 */
const temporalServer: Recipe = {
  name: "temporal-server",
  packages: {
    "temporal-server": "go.temporal.io/server/cmd/server",
    "temporal-sql-tool": "go.temporal.io/server/cmd/tools/sql",
  },
  ldflags: "-s -w",
  requires: ["go.temporal.io/server v1.29.1"],
  replaces: [],
};

const version = "v3.21.4";
/** Minor version of Helm's Kubernetes modules: the default Kubernetes version when Helm renders without a cluster. */
const kubernetesMinor = "36";

const stamps = {
  "internal/version.version": version,
  "pkg/chartutil.k8sVersionMajor": "1",
  "pkg/chartutil.k8sVersionMinor": kubernetesMinor,
  "pkg/lint/rules.k8sVersionMajor": "1",
  "pkg/lint/rules.k8sVersionMinor": kubernetesMinor,
};

/** Helm 3, which renders deploy/chart. */
const helm: Recipe = {
  name: "helm",
  packages: { helm: "helm.sh/helm/v3/cmd/helm" },
  ldflags: ["-s -w", ...Object.entries(stamps).map(([key, value]) => `-X helm.sh/helm/v3/${key}=${value}`)].join(" "),
  requires: [`helm.sh/helm/v3 ${version}`],
  replaces: [],
};

function ourOwn(tool: "pause" | "pod-server", file: string): Recipe {
  const source = Deno.readTextFileSync(new URL(`./pod_programs/${file}`, import.meta.url));
  return {
    name: tool,
    packages: { [tool]: "." },
    ldflags: "-s -w",
    requires: [],
    replaces: [],
    files: { "main.go": source },
    target: "linux",
  };
}

/** The pause program, which keeps a pod's sandbox open. */
const pause: Recipe = ourOwn("pause", "pause.go");

/** A web server for pods that shuts down without a failed request. */
const podServer: Recipe = ourOwn("pod-server", "pod_server.go");

/** etcd 3.6; built from a wrapper module, because etcd's go.mod has replace directives for its sibling modules. */
const etcd: Recipe = {
  name: "etcd",
  packages: { etcd: "go.etcd.io/etcd/server/v3" },
  ldflags: "-s -w",
  requires: ["go.etcd.io/etcd/server/v3 v3.6.14"],
  replaces: [],
};

/** The older command line tool of Temporal; 1.18.0, because not every module proxy serves 1.18.4. */
const tctl: Recipe = {
  name: "tctl",
  packages: { tctl: "github.com/temporalio/tctl/cmd/tctl" },
  ldflags: "-s -w",
  requires: ["github.com/temporalio/tctl v1.18.0"],
  replaces: [],
};

/** The recipe of each tool; one go command builds all tools of a recipe. */
export const recipes: Readonly<Record<ToolName, Recipe>> = {
  etcd,
  "kube-apiserver": kubernetes,
  "kube-controller-manager": kubernetes,
  kubectl: kubernetes,
  kubeadm: kubernetes,
  "kube-scheduler": kubernetes,
  "kubeadm-1.35": kubernetes35,
  "kube-apiserver-1.35": kubernetes35,
  "kube-controller-manager-1.35": kubernetes35,
  "kube-scheduler-1.35": kubernetes35,
  temporal,
  tctl,
  helm,
  "machine-controller": machineController,
  "check-machine-files": checkMachineFiles,
  "check-kubelet-config": checkKubeletConfig,
  "kubelet-1.35": kubelet35,
  "kubelet-1.36": kubelet36,
  containerd,
  "containerd-shim-runc-v2": containerd,
  ctr: containerd,
  runc,
  "cni-bridge": cniPlugins,
  "cni-host-local": cniPlugins,
  "cni-loopback": cniPlugins,
  "cni-portmap": cniPlugins,
  "cni-ptp": cniPlugins,
  crictl,
  pause,
  "pod-server": podServer,
  cosign,
  registry,
  "temporal-server": temporalServer,
  "temporal-sql-tool": temporalServer,
};

import type { Recipe } from "../recipe.ts";
import { kubernetes } from "./kubernetes.ts";

/** Files of other minors' KubeletConfiguration types; Go takes one version of a module, unless each has its own name. */
const kubeletTypes = { 33: "v0.33.12", 34: "v0.34.10", 35: "v0.35.8" };

function sources(...names: string[]): Record<string, string> {
  const read = (name: string): string => Deno.readTextFileSync(new URL(`./checkers/${name}`, import.meta.url));
  return Object.fromEntries(["main.go", ...names].map((name) => [name, read(name)]));
}

/** Judges what containerd and Ignition read, with their own code. */
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

/** Judges a KubeletConfiguration with the kubelet's own code; apart, because it shares what a build of Kubernetes left. */
export const checkKubeletConfig: Recipe = {
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

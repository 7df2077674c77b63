import { machineVersions } from "../machine_versions.ts";
import type { Recipe } from "../recipe.ts";

const containerdModule = "github.com/containerd/containerd/v2";
const cniModule = "github.com/containernetworking/plugins";
const criModule = "sigs.k8s.io/cri-tools";
const seccomp = Deno.readTextFileSync(new URL("./runc_seccomp.go.txt", import.meta.url));

/** containerd with its shim and client, linked statically as in the release archive containerd-static. */
export const containerd: Recipe = {
  name: "containerd",
  packages: {
    containerd: `${containerdModule}/cmd/containerd`,
    "containerd-shim-runc-v2": `${containerdModule}/cmd/containerd-shim-runc-v2`,
    ctr: `${containerdModule}/cmd/ctr`,
  },
  ldflags: `-s -w -X ${containerdModule}/version.Version=${machineVersions.containerd}`,
  requires: [`${containerdModule} ${machineVersions.containerd}`],
  replaces: [],
  target: "linux",
  tags: ["osusergo", "netgo", "static_build", "urfave_cli_no_docs"],
};

/**
 * runc without libseccomp, which no module proxy serves. The kubelet requests a seccomp profile for each pod's sandbox,
 * which runc without the library refuses, so that no pod would start. This build is patched to start containers
 * unconfined instead: seccomp profiles of pods have no effect on these machines.
 */
export const runc: Recipe = {
  name: "runc",
  packages: { runc: "." },
  ldflags: "-s -w -linkmode external -extldflags -static",
  requires: [],
  replaces: [],
  source: {
    module: `github.com/opencontainers/runc@${machineVersions.runc}`,
    keep: ["."],
    drop: [],
    write: { "libcontainer/seccomp/seccomp_unsupported.go": seccomp },
    modEdits: [],
  },
  target: "linux",
  tags: ["osusergo", "netgo", "urfave_cli_no_docs"],
  isPartlyC: true,
};

/** The CNI plugins for the pod network of a machine. */
export const cniPlugins: Recipe = {
  name: "cni-plugins",
  packages: {
    "cni-bridge": `${cniModule}/plugins/main/bridge`,
    "cni-host-local": `${cniModule}/plugins/ipam/host-local`,
    "cni-loopback": `${cniModule}/plugins/main/loopback`,
    "cni-portmap": `${cniModule}/plugins/meta/portmap`,
    "cni-ptp": `${cniModule}/plugins/main/ptp`,
  },
  ldflags: `-s -w -X ${cniModule}/pkg/utils/buildversion.BuildVersion=${machineVersions.cni}`,
  requires: [`${cniModule} ${machineVersions.cni}`],
  replaces: [],
  target: "linux",
};

/** The command line client of container runtimes, for debugging on a machine. */
export const crictl: Recipe = {
  name: "crictl",
  packages: { crictl: `${criModule}/cmd/crictl` },
  ldflags: `-s -w -X ${criModule}/pkg/version.Version=${machineVersions.crictl}`,
  requires: [`${criModule} ${machineVersions.crictl}`],
  replaces: [],
  target: "linux",
};

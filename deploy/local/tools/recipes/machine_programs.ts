import { machineVersions } from "../machine_versions.ts";
import type { Recipe } from "../recipe.ts";

const containerdModule = "github.com/containerd/containerd/v2";
const cniModule = "github.com/containernetworking/plugins";
const criModule = "sigs.k8s.io/cri-tools";
const seccomp = Deno.readTextFileSync(new URL("./runc_seccomp.go.txt", import.meta.url));

/** containerd, its shim and its client, static as in the release's archive of that name. */
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
 * runc without libseccomp, which comes through no module proxy. What that costs: the kubelet asks for a seccomp profile for
 * each pod's sandbox, and runc's own answer without the library is to refuse, so no pod would start. This one starts it
 * unconfined: seccomp profiles of pods have no effect on our machines.
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

/** Those CNI plugins that the network of a machine's pods needs. */
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

/** The client of container runtimes, for people on a machine. */
export const crictl: Recipe = {
  name: "crictl",
  packages: { crictl: `${criModule}/cmd/crictl` },
  ldflags: `-s -w -X ${criModule}/pkg/version.Version=${machineVersions.crictl}`,
  requires: [`${criModule} ${machineVersions.crictl}`],
  replaces: [],
  target: "linux",
};

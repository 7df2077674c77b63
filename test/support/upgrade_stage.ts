/** A cluster in memory like those that kubeadm creates: three control planes, and a NodeVersion for a later version. */
import { GroupInMemory, version } from "./group_in_memory.ts";
import { useEtcd } from "./staged_cluster.ts";
import { StagedEtcd } from "./staged_etcd.ts";

const role = "node-role.kubernetes.io/control-plane";
const digest = `sha256:${"a".repeat(64)}`;

/** The version that the cluster runs, and the version that its NodeVersion asks for. */
export const current = "v1.35.3";
export const desired = "v1.36.1";

/** Valid components of a version, as the Constellation CLI writes them. */
export function componentsOf(kubernetes: string): Record<string, unknown>[] {
  const at = (name: string): string => `https://dl.example.com/${kubernetes}/bin/linux/amd64/${name}`;
  return [
    ...["kubelet", "kubeadm", "kubectl"].map((name) => ({
      ...{ url: at(name), hash: digest, install_path: `/run/state/bin/${name}`, extract: false },
    })),
    { url: "https://dl.example.com/cni.tgz", hash: digest, install_path: "/opt/cni/bin", extract: true },
    { url: "data:application/json;base64,e30=", install_path: "/opt/patches/x.json" },
  ];
}

export class UpgradeStage extends GroupInMemory {
  readonly etcd = new StagedEtcd();
  readonly object = { name: "v" };

  /**
   * Makes a cluster in which "workers-1" leads etcd, and every component of each control plane runs version `current`.
   */
  constructor() {
    super({ role: "ControlPlane" });
    useEtcd(this.client, () => this.etcd);
    for (const { node, addresses: [address = ""] } of this.cloud.instances()) {
      this.etcd.join(`m-${node}`, address, { name: node });
      const found = this.kube.get("nodes", node);
      Object.assign(found?.metadata ?? {}, { labels: { [role]: "" } });
      Object.assign(found?.["status"] ?? {}, { addresses: [{ type: "InternalIP", address }] });
      this.runs(node, current);
    }
    this.configMap("kubeadm-config", {
      ClusterConfiguration: `kind: ClusterConfiguration\nkubernetesVersion: ${current}\n`,
    });
    this.want(desired);
  }

  /** Makes the NodeVersion ask for this version and these components. */
  want(kubernetes: string, components: string = JSON.stringify(componentsOf(kubernetes))): void {
    this.configMap("components-2", { components });
    const spec = {
      ...{ image: version.image, imageVersion: "", kubernetesComponentsReference: "components-2" },
      kubernetesClusterVersion: kubernetes,
    };
    this.kube.put("nodeversions", { metadata: { name: "v" }, spec, status: { conditions: [] } });
  }

  configMap(name: string, data: Record<string, string>): void {
    this.kube.put("configmaps", { metadata: { namespace: "kube-system", name }, data });
  }

  /** Makes all static pods and the kubelet of a control plane run this version. */
  runs(node: string, kubernetes: string): void {
    for (const part of ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]) {
      this.part(node, part, kubernetes);
    }
    this.kubelet(node, kubernetes);
  }

  kubelet(node: string, kubernetes: string): void {
    const status = this.kube.get("nodes", node)?.["status"] as Record<string, unknown> | undefined;
    Object.assign(status ?? {}, { nodeInfo: { kubeletVersion: kubernetes } });
  }

  /** Makes the static pod `part` of a control plane run an image with this tag. */
  part(
    node: string,
    part: string,
    tag: string,
    { isReady = true, isMirror = true, on = node, renewed = "" } = {},
  ): void {
    const annotations: Record<string, string> = {
      ...(isMirror ? { "kubernetes.io/config.mirror": "x" } : {}),
      ...(renewed === "" ? {} : { "ostler.dev/certificates-renewed": renewed }),
    };
    this.kube.put("pods", {
      metadata: { namespace: "kube-system", name: `${part}-${node}`, annotations },
      spec: { nodeName: on, containers: [{ name: part, image: `registry.example.com:5000/${part}:${tag}` }] },
      status: { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
    });
  }

  /** Adds a worker node. */
  worker(name: string, kubernetes: string): void {
    const status = {
      conditions: [{ type: "Ready", status: "True" }],
      nodeInfo: { kubeletVersion: kubernetes },
    };
    this.kube.put("nodes", { metadata: { name }, spec: {}, status });
  }
}

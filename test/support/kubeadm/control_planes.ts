/** A cluster whose control planes, which run etcd, and workers are machines of scaling groups. */
import { join } from "node:path";
import { marks } from "../../../activities/node_version/marks.ts";
import type { GroupSpec } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import { type Administrator, first, GroupGround } from "../../../deploy/local/cloud/groups/group_ground.ts";
import { writeKubeconfig } from "../../../deploy/local/stack/kubeconfig_file.ts";
import type { Cluster } from "../../../deploy/local/stack/stack.ts";
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";
import { ContainerFleet } from "../../../deploy/local/machines/groups/container_fleet.ts";
import type { OpenJoining } from "../../../deploy/local/machines/groups/joining.ts";
import { hostFacts } from "../../../deploy/local/machines/host_facts.ts";
import { Balancer } from "./balancer.ts";
import { clusterComponents } from "./cluster_components.ts";
import { ClusterKeys } from "./cluster_keys.ts";
import { imagePrefix } from "./component_images.ts";
import { untilFirstReady } from "./first_machine.ts";
import { bootstrappers, joinByKubeadm } from "./joining.ts";
import { kubernetesVersion } from "./programs.ts";

export interface ControlPlanesOptions {
  /** A host whose mirror has the images of the components, and kubeadm. */
  host: ContainerHost;
  /** Folder for the kubeconfig of the administrator. */
  directory: string;
  /** The group of the control planes, whose first machine creates the cluster. */
  group: GroupSpec;
  /** Version of the cluster and of its kubelets; `kubernetesVersion` by default. */
  version?: string;
  /**
   * Kubernetes versions by name of the components, for machines that join with other components than the first ones.
   */
  components?: Readonly<Record<string, string>>;
}

/** The port of kubeadm's API servers. */
const apiPort = 6443;

export class ControlPlanes implements AsyncDisposable {
  readonly groups: GroupGround;
  /** The cluster; the address of its API server is that of the load balancer. */
  readonly cluster: Cluster;
  readonly keys: ClusterKeys;
  readonly #options: ControlPlanesOptions;
  readonly #parts: AsyncDisposableStack;

  private constructor(
    options: ControlPlanesOptions,
    parts: Pick<ControlPlanes, "groups" | "cluster" | "keys"> & { owned: AsyncDisposableStack },
  ) {
    this.#options = options;
    this.groups = parts.groups;
    this.cluster = parts.cluster;
    this.keys = parts.keys;
    this.#parts = parts.owned;
  }

  /** Resolves when the first control plane is Ready; if it fails, only its container remains. */
  static async begin(options: ControlPlanesOptions): Promise<ControlPlanes> {
    await using owned = new AsyncDisposableStack();
    const { host, group, directory, version = kubernetesVersion, components = {} } = options;
    const keys = await ClusterKeys.create();
    const caPem = keys.cluster.certificatePem;
    const endpoint = (): string => `${host.address}:${balancer.port}`;
    const groups = owned.use(groundOf(host, { keys, endpoint, version, components }));
    const addresses = (): string[] => addressesOf(groups, group).map((address) => `${address}:${apiPort}`);
    const balancer = owned.use(await Balancer.start(host.address, { addresses, caPem }));
    host.serveApi(balancer.port);
    const apiServer = { url: `https://${endpoint()}`, caPem, port: balancer.port };
    const adminKubeconfig = await writeKubeconfig(join(directory, "admin.yaml"), {
      ...{ apiServer, userName: "admin", credentials: await keys.administrator() },
    });
    await groups.begin(adminKubeconfig, { ...group, size: 1 });
    const [machine] = groups.cloud.instances(group.id);
    await untilFirstReady(host, machine?.node ?? "", adminKubeconfig);
    return new ControlPlanes(options, { groups, cluster: { apiServer, adminKubeconfig }, keys, owned: owned.move() });
  }

  /** Returns the addresses of the control planes. */
  get addresses(): string[] {
    return addressesOf(this.groups, this.#options.group);
  }

  /**
   * Lets all other machines join. Ostler's CRDs and service accounts must exist, and its processes must run, because
   * Ostler records the image and components of nodes.
   */
  async settle(admin: Administrator, workers: readonly GroupSpec[]): Promise<void> {
    const { group, version = kubernetesVersion } = this.#options;
    const [founder] = this.groups.cloud.instances(group.id);
    // No join service existed for the machine that ran `kubeadm init`, so its node is annotated here.
    await admin.patch(`/api/v1/nodes/${founder?.node}`, {
      metadata: { annotations: { [marks.components]: first.components } },
    });
    await admin.create("/api/v1/namespaces/kube-system/secrets", {
      ...{ metadata: { name: "ostler-etcd" }, stringData: await this.keys.etcdClient("ostler") },
    });
    const found = this.groups.cloud.group(group.id);
    if (found) this.groups.cloud.resize(found, group.size);
    await this.groups.settle(admin, [group, ...workers], { ...first, kubernetes: version });
  }

  /** Stops the cluster without removing containers, which the host removes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
  }
}

function addressesOf({ cloud }: GroupGround, { id }: GroupSpec): string[] {
  return cloud.instances(id).filter(({ state }) => state === "Ready").flatMap(({ addresses }) => addresses);
}

function groundOf(
  host: ContainerHost,
  { keys, endpoint, version, components }: {
    keys: ClusterKeys;
    endpoint: () => string;
    version: string;
    components: Readonly<Record<string, string>>;
  },
): GroupGround {
  const versions = { ...components, [first.components]: version };
  const kubelets = Object.fromEntries(Object.entries(versions).map(([name, each]) => [name, each.slice(1)]));
  const imageRepository = `${new URL(host.mirror.url).host}/${imagePrefix}`;
  return new GroupGround({
    fleet: async (world) => {
      const { hasCgroupV2 } = await hostFacts();
      const shape = { endpoint: endpoint(), version, podNetwork: host.podNetwork, imageRepository, hasCgroupV2 };
      const accepted = (): Promise<string> => clusterComponents(world.kubeconfig, versions);
      const joining: OpenJoining = (means) => joinByKubeadm({ cloud: world.cloud, keys, shape, accepted }, means);
      return await ContainerFleet.open({ ...world, host, kubelets, bootstrappers, joining });
    },
  });
}

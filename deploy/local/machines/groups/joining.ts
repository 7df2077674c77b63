/** How machines of groups become nodes: by a kubelet that has a ticket, unless another way is told. */
import { Buffer } from "node:buffer";
import type { CloudInstance } from "../../cloud/groups/group_cloud.ts";
import type { JoinService } from "../../cloud/groups/join_service.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { ContainerHost } from "../container_host.ts";
import { type BootFile, nodeFiles } from "./node_files.ts";
import { userData } from "./user_data.ts";

export interface Joining {
  /** What an instance boots with, to run these components; asked again while it cannot be told. */
  userData(instance: CloudInstance, components: string): Promise<string>;
}

export interface JoiningMeans {
  host: Pick<ContainerHost, "settings" | "poolAnnotations">;
  /** Version of the kubelet, without a leading "v", by the components that have it. */
  kubelets: Readonly<Record<string, string>>;
  joinService: JoinService;
}

export type OpenJoining = (means: JoiningMeans) => Promise<Joining>;

/** The machine's kubelet asks for its certificate itself. */
export async function joinByTicket(means: JoiningMeans): Promise<Joining> {
  const { joinService } = means;
  const filesOf = await openNodeFiles(means);
  return {
    userData: async (instance, components) => {
      const files = filesOf(instance, components);
      await joinService.announce(instance.node, components);
      return userData({ instance, files, cluster: clusterOf(joinService), ticket: await joinService.ticket() });
    },
  };
}

/** Where machines find the API server, and how they know it. */
export function clusterOf({ cluster }: JoinService): { apiServer: string; caPem: string } {
  return { apiServer: cluster.server, caPem: Buffer.from(cluster.caData ?? "", "base64").toString("utf8") };
}

/** Knows all files of all components before the first machine is ordered. */
export async function openNodeFiles(
  { host: { settings, poolAnnotations: annotations }, kubelets, joinService }: JoiningMeans,
): Promise<(instance: CloudInstance, components: string) => BootFile[]> {
  const all = Object.entries(kubelets).map(async ([components, kubelet]) => {
    return [components, await nodeFiles({ kubelet, cluster: clusterOf(joinService), settings, annotations })] as const;
  });
  try {
    const files = Object.fromEntries(await Promise.all(all));
    return ({ node }, components) => {
      const known = files[components];
      if (known === undefined) throw new Error(`Cannot boot "${node}": nobody knows "${components}"`);
      return known;
    };
  } finally {
    await closeTemplateEngines();
  }
}

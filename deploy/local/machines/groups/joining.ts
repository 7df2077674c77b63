/** How machines of scaling groups become nodes: by default with a kubelet that has a bootstrap token (join ticket). */
import { Buffer } from "node:buffer";
import type { CloudInstance } from "../../cloud/groups/group_cloud.ts";
import type { JoinService } from "../../cloud/groups/join_service.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { ContainerHost } from "../container_host.ts";
import { type BootFile, nodeFiles } from "./node_files.ts";
import { userData } from "./user_data.ts";

export interface Joining {
  /** Returns the user-data of an instance that should run these components; the caller retries after a rejection. */
  userData(instance: CloudInstance, components: string): Promise<string>;
}

export interface JoiningMeans {
  host: Pick<ContainerHost, "settings" | "poolAnnotations">;
  /** The kubelet version, without a leading "v", for each value of a NodeVersion's `kubernetesComponentsReference`. */
  kubelets: Readonly<Record<string, string>>;
  joinService: JoinService;
}

export type OpenJoining = (means: JoiningMeans) => Promise<Joining>;

/**
 * Opens the default way to join: a machine's kubelet requests its certificate itself, with a bootstrap token (join
 * ticket).
 */
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

/** Returns the URL and the CA of the API server. */
export function clusterOf({ cluster }: JoinService): { apiServer: string; caPem: string } {
  return { apiServer: cluster.server, caPem: Buffer.from(cluster.caData ?? "", "base64").toString("utf8") };
}

/**
 * Renders the node files for all components in `kubelets`. Returns a function that selects the files by the components
 * that an instance should run, and throws if `kubelets` lacks these components.
 */
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
      if (known === undefined) {
        throw new Error(
          `Failed to boot machine "${node}": no kubelet version is configured for components "${components}"`,
        );
      }
      return known;
    };
  } finally {
    await closeTemplateEngines();
  }
}

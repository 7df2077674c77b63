/** Lists all objects of a kind, a page at a time, and keeps only the needed part of each. */
import { setHeaderOptions } from "../kube/client_node.ts";
import { type Kube, listThere } from "../kube/client.ts";
import { allPages, type ListPage } from "../kube/resources.ts";
import { statusOf } from "../kube/status.ts";

/** Group, version and plural of a kind. */
export interface Kind {
  group: string;
  version: string;
  plural: string;
}

/** The metadata of an object that a handover needs. */
export interface Head {
  name: string;
  namespace: string;
  annotations: Record<string, string>;
  labels: Record<string, string>;
}

type Raw = { metadata?: Partial<Head> };

/** Returns the names, annotations and labels of an object. */
export function headOf({ metadata = {} }: Raw): Head {
  const { name = "", namespace = "", annotations = {}, labels = {} } = metadata;
  return { name, namespace, annotations, labels };
}

/**
 * Returns the result of `keep` for each object of a kind, in all namespaces; in a management cluster, only for this
 * installation's objects. Empty if the kind is not installed.
 */
export async function listEach<T>(kube: Kube, kind: Kind, keep: (object: unknown) => T): Promise<T[]> {
  try {
    return await allPages(async (page) => {
      const answer = await listThere(kube, kind, page);
      const { items = [], metadata = {} } = answer as ListPage<unknown>;
      return { metadata, items: items.map(keep) };
    });
  } catch (error) {
    if (statusOf(error) === 404) return [];
    throw error;
  }
}

/** Requests metadata alone, because the data of a thousand pools' secrets is a hundred megabytes. */
const metadataOnly = setHeaderOptions("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");

/** Returns the names, annotations and labels of all secrets of a namespace, without transferring their data. */
export async function listSecretHeads(kube: Kube, namespace: string): Promise<Head[]> {
  return await allPages(async (page) => {
    const { items, metadata = {} } = await kube.core.listNamespacedSecret({ namespace, ...page }, metadataOnly);
    return { metadata, items: items.map((item) => headOf(item as Raw)) };
  });
}

/** Reads and writes custom resources that are in no namespace, parsed at the edge. */
import { refused } from "../failures.ts";
import { asMergePatch } from "./client.ts";
import type { Kube } from "./client.ts";
import { allPages, type ListPage } from "./pages.ts";
import type { Resource } from "./resources.ts";

/** A kind whose objects are in no namespace. */
export type ClusterResource<T> = Resource<T>;

/** Reads one object; a missing one is the API's 404. */
export async function readClusterObject<T>(kube: Kube, resource: ClusterResource<T>, name: string): Promise<T> {
  return parsed(resource, await kube.custom.getClusterCustomObject({ ...place(resource), name }));
}

/** Reads all objects of a kind, page by page. */
export async function listClusterObjects<T>(kube: Kube, resource: ClusterResource<T>): Promise<T[]> {
  return await allPages(async (page) => {
    const answer: unknown = await kube.custom.listClusterCustomObject({ ...place(resource), ...page });
    const { items = [], metadata = {} } = answer as ListPage<unknown>;
    return { metadata, items: items.map((item) => parsed(resource, item)) };
  });
}

/** Creates an object, and gives it as it is then; one of that name is the API's 409. */
export async function createClusterObject<T>(
  kube: Kube,
  resource: ClusterResource<T>,
  { kind, ...given }: { kind: string; metadata: object; spec: object },
): Promise<T> {
  const { group, version } = resource;
  const object = { apiVersion: `${group}/${version}`, kind, ...given };
  return parsed(resource, await kube.custom.createClusterCustomObject({ ...place(resource), body: object }));
}

/** Merges `body` into an object, and gives what it is then; with another `resourceVersion` in place, a 409. */
export async function patchClusterObject<T>(
  kube: Kube,
  resource: ClusterResource<T>,
  { name, body }: { name: string; body: object },
): Promise<T> {
  const request = { ...place(resource), name, body };
  return parsed(resource, await kube.custom.patchClusterCustomObject(request, asMergePatch));
}

/** Merges `status` into the status of an object; with another `resourceVersion` in place, a 409. */
export async function patchClusterStatus(
  kube: Kube,
  resource: ClusterResource<unknown>,
  { name, status, resourceVersion }: { name: string; status: object; resourceVersion?: string | undefined },
): Promise<void> {
  const body = { ...(resourceVersion === undefined ? {} : { metadata: { resourceVersion } }), status };
  await kube.custom.patchClusterCustomObjectStatus({ ...place(resource), name, body }, asMergePatch);
}

/** Deletes that very object: a missing one is the API's 404, one that came in its place, or was changed, 409. */
export async function deleteClusterObject(
  kube: Kube,
  resource: ClusterResource<unknown>,
  { name, uid, resourceVersion }: { name: string; uid: string; resourceVersion?: string | undefined },
): Promise<void> {
  const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  await kube.custom.deleteClusterCustomObject({ ...place(resource), name, body: { preconditions } });
}

function parsed<T>({ plural, schema }: ClusterResource<T>, object: unknown): T {
  const result = schema.safeParse(object);
  if (result.success) return result.data;
  const { name } = (object as { metadata?: { name?: string } }).metadata ?? {};
  const faults = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw refused("ObjectInvalid", `Cannot read ${plural} "${name}": ${faults.slice(0, 3).join("; ")}`);
}

function place({ group, version, plural }: ClusterResource<unknown>): {
  group: string;
  version: string;
  plural: string;
} {
  return { group, version, plural };
}

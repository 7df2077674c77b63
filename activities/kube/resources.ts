/** Reads and patches the custom resources Ostler lives with, parsed at the edge. */
import type { V1DeleteOptions } from "@kubernetes/client-node";
import type { z } from "zod";
import { refused } from "../failures.ts";
import { asJsonPatch, asMergePatch } from "./client.ts";
import type { Kube } from "./client.ts";
import { homeOf, listThere } from "./home.ts";
import { allPages, type ListPage } from "./pages.ts";
import {
  Machine,
  MachineDeployment,
  MachineSet,
  OsProfileObject,
  RolloutObject,
  RolloutPolicyObject,
} from "./schemas.ts";

/** One kind of custom resource: where it lives and how it is read. */
export interface Resource<T> {
  group: string;
  version: string;
  plural: string;
  schema: z.ZodType<T>;
  /** Where only some of them are watched. */
  fieldSelector?: string;
  /** Where only those of one namespace are watched; of the core group. */
  namespace?: string;
}

const cluster = { group: "cluster.k8s.io", version: "v1alpha1" } as const;
const osm = { group: "operatingsystemmanager.k8c.io", version: "v1alpha1" } as const;

export const machineDeployments: Resource<MachineDeployment> = {
  ...cluster,
  plural: "machinedeployments",
  schema: MachineDeployment,
};
export const machineSets: Resource<MachineSet> = { ...cluster, plural: "machinesets", schema: MachineSet };
export const machines: Resource<Machine> = { ...cluster, plural: "machines", schema: Machine };
export const profiles: Resource<OsProfileObject> = {
  ...osm,
  plural: "operatingsystemprofiles",
  schema: OsProfileObject,
};
export const configs: Resource<OsProfileObject> = { ...osm, plural: "operatingsystemconfigs", schema: OsProfileObject };
export const rollouts: Resource<RolloutObject> = {
  group: "ostler.dev",
  version: "v1alpha1",
  plural: "rollouts",
  schema: RolloutObject,
};
export const rolloutPolicies: Resource<RolloutPolicyObject> = {
  group: "ostler.dev",
  version: "v1alpha1",
  plural: "rolloutpolicies",
  schema: RolloutPolicyObject,
};

export interface ObjectName {
  namespace: string;
  name: string;
}

/** Reads one object; a missing one is the API's 404. */
export async function readObject<T>(kube: Kube, resource: Resource<T>, name: ObjectName): Promise<T> {
  return parsed(
    resource,
    await thereIn(kube, resource, name).getNamespacedCustomObject({ ...place(resource), ...name }),
  );
}

/** Reads the objects of one namespace that carry the labels, page by page. */
export async function listObjects<T>(
  kube: Kube,
  resource: Resource<T>,
  where: { namespace: string; labelSelector?: string },
): Promise<T[]> {
  return await allPages(async (page) => {
    const request = { ...place(resource), ...where, ...page };
    const answer: unknown = await thereIn(kube, resource, where).listNamespacedCustomObject(request);
    const { items = [], metadata = {} } = answer as ListPage<unknown>;
    return { metadata, items: items.map((item) => parsed(resource, item)) };
  });
}

/** Some objects of a kind, and where to go on. */
export interface Page<T> {
  items: T[];
  /** Missing on the last page. */
  next?: string;
}

/** Reads one page of the objects of all namespaces; leaves out what cannot be read, as one must not hide the others. */
export async function listPage<T>(
  kube: Kube,
  resource: Resource<T>,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<Page<T>> {
  const from = after === undefined ? {} : { _continue: after };
  const answer: unknown = await listThere(kube, resource, { limit, ...from });
  const { items = [], metadata } = answer as { items?: unknown[]; metadata?: { continue?: string } };
  const read = items.map((item) => resource.schema.safeParse(item));
  const next = metadata?.continue;
  return { items: read.flatMap(({ data }) => data === undefined ? [] : [data]), ...(next ? { next } : {}) };
}

/** Creates an object, and gives what it is then; one that exists already is the API's 409. */
export async function createObject<T>(kube: Kube, resource: Resource<T>, body: ObjectBody): Promise<T> {
  const { namespace } = body.metadata;
  const request = { ...place(resource), namespace, body };
  return parsed(resource, await thereIn(kube, resource, body.metadata).createNamespacedCustomObject(request));
}

export interface ObjectBody {
  apiVersion: string;
  kind: string;
  metadata: ObjectName & Record<string, unknown>;
  [field: string]: unknown;
}

/** Merges `body` into an object; `fieldManager` is the name under which the API server remembers it. */
export async function patchObject(
  kube: Kube,
  resource: Resource<unknown>,
  { body, ...where }: ObjectName & { body: object; fieldManager?: string },
): Promise<void> {
  const request = { ...place(resource), ...where, body };
  await thereIn(kube, resource, where).patchNamespacedCustomObject(request, asMergePatch);
}

/** Applies a JSON patch (RFC 6902) to an object. */
export async function editObject(
  kube: Kube,
  resource: Resource<unknown>,
  { edits, ...where }: ObjectName & { edits: { op: string; path: string; value: unknown }[]; fieldManager: string },
): Promise<void> {
  const request = { ...place(resource), ...where, body: edits };
  await thereIn(kube, resource, where).patchNamespacedCustomObject(request, asJsonPatch);
}

/** Replaces an object, and gives what it is then; another resource version in place is the API's 409. */
export async function replaceObject<T>(kube: Kube, resource: Resource<T>, body: ObjectBody): Promise<T> {
  const { namespace, name } = body.metadata;
  const request = { ...place(resource), namespace, name, body };
  return parsed(resource, await thereIn(kube, resource, body.metadata).replaceNamespacedCustomObject(request));
}

/** Merges `status` into the status of an object, and gives what it is then; with another `resourceVersion` in place, a 409. */
export async function patchStatus<T>(
  kube: Kube,
  resource: Resource<T>,
  { status, resourceVersion, ...name }: ObjectName & { status: object; resourceVersion?: string | undefined },
): Promise<T> {
  const body = { ...(resourceVersion === undefined ? {} : { metadata: { resourceVersion } }), status };
  const request = { ...place(resource), ...name, body };
  const there = thereIn(kube, resource, name);
  return parsed(resource, await there.patchNamespacedCustomObjectStatus(request, asMergePatch));
}

/** Deletes an object; a missing one is the API's 404, one that is not as `body` wants it 409. */
export async function deleteObject(
  kube: Kube,
  resource: Resource<unknown>,
  where: ObjectName & { body?: V1DeleteOptions },
): Promise<void> {
  await thereIn(kube, resource, where).deleteNamespacedCustomObject({ ...place(resource), ...where });
}

function thereIn(kube: Kube, resource: Resource<unknown>, { namespace }: { namespace: string }): Kube["custom"] {
  return homeOf(kube, resource, namespace).custom;
}

// These kinds have no schema of their own in the cluster, so anything may stand there.
function parsed<T>({ plural, schema }: Resource<T>, object: unknown): T {
  const result = schema.safeParse(object);
  if (result.success) return result.data;
  const { namespace, name } = (object as Partial<ObjectBody>).metadata ?? {};
  const faults = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw refused("ObjectInvalid", `Cannot read ${plural} "${namespace}/${name}": ${faults.slice(0, 3).join("; ")}`);
}

function place(resource: Resource<unknown>): { group: string; version: string; plural: string } {
  const { group, version, plural } = resource;
  return { group, version, plural };
}

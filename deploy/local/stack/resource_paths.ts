import type { ApiConnection } from "./api_connection.ts";

/** The required fields of an object in a manifest; other fields are kept unchanged. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Finds the URL paths of objects by kind, from the discovery of the API server. */
export class ResourcePaths {
  readonly #api: ApiConnection;
  readonly #byVersion = new Map<string, readonly Resource[]>();

  constructor(api: ApiConnection) {
    this.#api = api;
  }

  /** Returns the path of one object; discovers an unknown kind, and throws if the server does not serve the kind. */
  async pathOf({ apiVersion, kind, metadata }: ManifestObject): Promise<string> {
    const resource = await this.#resource(apiVersion, kind);
    const scope = resource.namespaced ? `/namespaces/${encodeURIComponent(metadata.namespace ?? "default")}` : "";
    return `${versionPath(apiVersion)}${scope}/${resource.name}/${encodeURIComponent(metadata.name)}`;
  }

  async #resource(apiVersion: string, kind: string): Promise<Resource> {
    const known = find(this.#byVersion.get(apiVersion), kind);
    if (known !== undefined) return known;
    const answer = await this.#api.call({ method: "GET", path: versionPath(apiVersion) });
    const { resources } = answer as { resources: readonly Resource[] };
    this.#byVersion.set(apiVersion, resources);
    const found = find(resources, kind);
    if (found === undefined) {
      throw new Error(`Failed to find kind "${kind}" in "${apiVersion}": the API server does not serve it`);
    }
    return found;
  }
}

function find(resources: readonly Resource[] | undefined, kind: string): Resource | undefined {
  // Names with a slash are subresources, some of which have their parent's kind.
  return resources?.find((resource) => resource.kind === kind && !resource.name.includes("/"));
}

function versionPath(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

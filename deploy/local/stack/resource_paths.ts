import type { ApiConnection } from "./api_connection.ts";

/** An object as a manifest must give it; every other field is passed on untouched. */
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

/** Finds the URL path of objects from their kinds, as the API server's discovery tells. */
export class ResourcePaths {
  readonly #api: ApiConnection;
  readonly #byVersion = new Map<string, readonly Resource[]>();

  constructor(api: ApiConnection) {
    this.#api = api;
  }

  /** The path of one object; throws for a kind the server does not serve, after asking it anew. */
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
    if (found === undefined) throw new Error(`Cannot find kind "${kind}" in "${apiVersion}": it is not served`);
    return found;
  }
}

function find(resources: readonly Resource[] | undefined, kind: string): Resource | undefined {
  // Names with a slash are subresources, some of which carry their parent's kind.
  return resources?.find((resource) => resource.kind === kind && !resource.name.includes("/"));
}

function versionPath(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

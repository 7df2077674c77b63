import { type ApiConnection, ApiRefusal } from "./api_connection.ts";

/** Reads and changes the objects of a cluster by their path on its API server, as plain JSON. */
export class ApiObjects {
  constructor(readonly api: ApiConnection) {}

  /** Path of the kubeconfig. */
  get kubeconfig(): string {
    return this.api.kubeconfig;
  }

  /** Returns an object; undefined if it does not exist. */
  async get<T>(path: string): Promise<T | undefined> {
    try {
      return await this.api.call({ method: "GET", path }) as T;
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Returns all objects of a collection; none if the API server does not serve the collection. */
  async list<T>(path: string): Promise<T[]> {
    return (await this.get<{ items: T[] }>(path))?.items ?? [];
  }

  /** Creates an object in a collection. */
  async create(path: string, body: object): Promise<void> {
    await this.api.call({ method: "POST", path, body });
  }

  /** Changes an object with a merge patch. */
  async patch(path: string, body: object): Promise<void> {
    await this.api.call({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
  }

  /** Deletes an object. */
  async remove(path: string): Promise<void> {
    await this.api.call({ method: "DELETE", path });
  }
}

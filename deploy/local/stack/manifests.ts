import { readFile } from "node:fs/promises";
import { waitUntil } from "../process/wait_until.ts";
import { ApiConnection, ApiRefusal } from "./api_connection.ts";
import { type ManifestObject, ResourcePaths } from "./resource_paths.ts";
import { loadYaml } from "@kubernetes/client-node";

const fieldManager = "ostler-stack";
const timeoutMs = 20_000;

/**
 * Applies the objects of YAML files one after another, with server-side apply. Waits for CustomResourceDefinitions to
 * be Established before the next object of another kind; rejects with an error that names the first refused object.
 */
export async function applyManifests(adminKubeconfig: string, paths: readonly string[]): Promise<void> {
  const texts = await Promise.all(paths.map(async (path) => parseManifests(await readFile(path, "utf8"), path)));
  await applyObjects(adminKubeconfig, texts.flat());
}

/** Applies objects in the same way as `applyManifests` applies the objects of files. */
export async function applyObjects(adminKubeconfig: string, objects: readonly ManifestObject[]): Promise<void> {
  using api = await ApiConnection.open(adminKubeconfig);
  const applier = new Applier(api);
  for (const object of objects) await applier.apply(object);
  await applier.awaitDefinitions();
}

/**
 * Parses a multi-document YAML text into objects, without empty documents; throws for a document that is not an object.
 */
export function parseManifests(text: string, path: string): ManifestObject[] {
  return yamlDocuments(text).map((document, at) => {
    if (isManifestObject(document)) return document;
    throw new Error(`Invalid document ${at + 1} of "${path}": apiVersion, kind and metadata.name are required`);
  });
}

class Applier {
  readonly #api: ApiConnection;
  readonly #paths: ResourcePaths;
  #unestablished: ManifestObject[] = [];

  constructor(api: ApiConnection) {
    this.#api = api;
    this.#paths = new ResourcePaths(api);
  }

  async apply(object: ManifestObject): Promise<void> {
    const isDefinition = object.kind === "CustomResourceDefinition";
    if (!isDefinition) await this.awaitDefinitions();
    const patch = (signal: AbortSignal): Promise<void> => this.#patch(object, signal);
    await waitUntil(patch, { what: `${nameOf(object)} to be applied`, timeoutMs, isFinal })
      .catch((error: unknown) => {
        throw isFinal(error) ? new Error(`Failed to apply ${nameOf(object)}: ${error.message}`) : error;
      });
    if (isDefinition) this.#unestablished.push(object);
  }

  async awaitDefinitions(): Promise<void> {
    const definitions = this.#unestablished;
    this.#unestablished = [];
    await Promise.all(
      definitions.map((definition) =>
        waitUntil((signal) => this.#checkEstablished(definition, signal), {
          what: `${nameOf(definition)} to be Established`,
          timeoutMs,
        })
      ),
    );
  }

  async #patch(object: ManifestObject, signal: AbortSignal): Promise<void> {
    const path = `${await this.#paths.pathOf(object)}?fieldManager=${fieldManager}&force=true`;
    await this.#api.call({ method: "PATCH", path, body: object, contentType: "application/apply-patch+yaml", signal });
  }

  async #checkEstablished(definition: ManifestObject, signal: AbortSignal): Promise<void> {
    const answer = await this.#api.call({ method: "GET", path: await this.#paths.pathOf(definition), signal });
    const { status } = answer as { status?: { conditions?: { type: string; status: string }[] } };
    const isEstablished = status?.conditions?.some((one) => one.type === "Established" && one.status === "True");
    if (!isEstablished) throw new Error("condition Established is not True");
  }
}

// Every error that is not in this list is retried: 5xx, 429, a missing response, and 404, because discovery and the
// creation of a namespace can lag behind.
function isFinal(error: unknown): error is ApiRefusal {
  return error instanceof ApiRefusal && [400, 401, 403, 405, 409, 413, 415, 422].includes(error.status);
}

function isManifestObject(document: unknown): document is ManifestObject {
  if (typeof document !== "object" || document === null) return false;
  const { apiVersion, kind, metadata } = document as Partial<ManifestObject>;
  return typeof apiVersion === "string" && typeof kind === "string" && typeof metadata?.name === "string";
}

function nameOf({ kind, metadata }: ManifestObject): string {
  const prefix = metadata.namespace === undefined ? "" : `${metadata.namespace}/`;
  return `${kind} "${prefix}${metadata.name}"`;
}

const separator = /^---(?:[ \t].*)?$/m;
const nothingButComments = /^(?:[ \t]*(?:#.*)?\r?\n?)*$/;

/** Returns the documents of a YAML text as plain data, in the order of the text, without empty documents. */
function yamlDocuments(text: string): unknown[] {
  return text.split(separator).filter((document) => !nothingButComments.test(document)).map(plainDocument);
}

// The client's loader converts a Kubernetes object into its typed model, which renames keys and drops unknown fields.
// The object is nested one level down, so that the loader finds no apiVersion at the top and returns plain data.
function plainDocument(document: string): unknown {
  const nested = document.replace(/^(?=.)/gm, "  ");
  return loadYaml<{ readonly document: unknown }>(`document:\n${nested}`).document;
}

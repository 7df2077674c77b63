/** Values that a provider spec does not hold but points at. */
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { readSecretTexts } from "./referenced_secret.ts";

/** The environment as the worker hands it in; only names that a reference asks for are looked at. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads `secret:namespace/name/key`, `configmap:namespace/name/key` and `env:NAME`. What is not there is left out:
 * whether that matters is for the one who asked, as the environment may stand in for an object.
 */
export async function readReferences(
  { kube, environment }: { kube: Kube; environment: Environment },
  references: string[],
): Promise<Record<string, string>> {
  const read = new Map<string, Promise<Record<string, string>>>();
  const object = (id: string): Promise<Record<string, string>> => {
    const known = read.get(id) ?? readObjectTexts(kube, id);
    read.set(id, known);
    return known;
  };
  const found = await Promise.all(references.map(async (reference) => {
    const [, id = "", key = ""] = /^(\w+:[^/]+\/[^/]+)\/(.+)$/.exec(reference) ?? [];
    const [, variable] = /^env:(.+)$/.exec(reference) ?? [];
    return [reference, variable ? environment[variable] : (await object(id))[key]] as const;
  }));
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

async function readObjectTexts(kube: Kube, id: string): Promise<Record<string, string>> {
  const [, kind, namespace = "", name = ""] = /^(secret|configmap):([^/]+)\/([^/]+)$/.exec(id) ?? [];
  if (kind === "secret") return (await readSecretTexts(kube, { namespace, name }))?.texts ?? {};
  if (kind !== "configmap") return {};
  return (await ifFound(kube.core.readNamespacedConfigMap({ namespace, name })))?.data ?? {};
}

/** Values that a provider spec does not hold but points at. */
import { secretsNamespace } from "../../profiles/mod.ts";
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { readSecretTexts } from "./referenced_secret.ts";

/** The environment as the worker hands it in; only names that a reference asks for are looked at. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whose rights anybody would have who may write a MachineDeployment and read what its machines boot from. */
const keysOfAccounts = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"];
const seed = "kube-system/ostler-seed";

export interface ReferenceReader {
  kube: Kube;
  environment: Environment;
  /** Namespaces that may be pointed into; all that the worker may read where none is named. */
  referenceNamespaces?: readonly string[];
}

/**
 * Reads `secret:namespace/name/key`, `configmap:namespace/name/key` and `env:NAME`. What is not there is left out:
 * whether that matters is for the one who asked, as the environment may stand in for an object.
 */
export async function readReferences(
  { kube, environment, referenceNamespaces = [] }: ReferenceReader,
  references: string[],
): Promise<Record<string, string>> {
  const read = new Map<string, Promise<Record<string, string>>>();
  const object = (id: string): Promise<Record<string, string>> => {
    const known = read.get(id) ?? readObjectTexts(kube, id, referenceNamespaces);
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

async function readObjectTexts(
  kube: Kube,
  id: string,
  namespaces: readonly string[],
): Promise<Record<string, string>> {
  const [, kind, namespace = "", name = ""] = /^(secret|configmap):([^/]+)\/([^/]+)$/.exec(id) ?? [];
  if (kind === undefined) return {};
  // Where machines boot from lie other pools' credentials, and no provider's.
  const isFree = namespaces.length === 0 && namespace !== secretsNamespace;
  if (!isFree && !namespaces.includes(namespace)) {
    throw forbidden(id, `namespace "${namespace}" is not among those of provider-reference-namespaces`);
  }
  if (kind === "configmap") return (await ifFound(kube.core.readNamespacedConfigMap({ namespace, name })))?.data ?? {};
  const secret = await readSecretTexts(kube, { namespace, name });
  if (secret && (keysOfAccounts.includes(secret.type) || `${namespace}/${name}` === seed)) {
    throw forbidden(id, "it is no credential of a provider");
  }
  return secret?.texts ?? {};
}

function forbidden(id: string, why: string): Error {
  return refused("CredentialsMissing", `Cannot read "${id}", which the provider spec points at: ${why}`);
}

/** Credentials for a registry, from a Secret in the format that kubelets use (kubernetes.io/dockerconfigjson). */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { readSecretTexts } from "../config/read_facts.ts";
import type { Kube } from "../kube/client.ts";
import { Unfit } from "./fault.ts";
import type { Reference } from "./reference.ts";
import type { Credentials } from "./registry/challenge.ts";

/** The only namespace in which the worker may read Secrets of users. */
const pullSecretNamespace = "kube-system";
const secretType = "kubernetes.io/dockerconfigjson";

const Entry = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
}).loose();
const DockerConfig = z.object({ auths: z.record(z.string(), Entry) }).loose();

/**
 * Returns the credentials that a Secret has for the repository. Throws Unfit, which names what is missing and quotes no
 * value.
 */
export async function readPullCredentials(
  kube: Kube,
  name: string,
  reference: Pick<Reference, "host" | "path">,
): Promise<Credentials> {
  const where = `Secret "${pullSecretNamespace}/${name}"`;
  const secret = await readSecretTexts(kube, { namespace: pullSecretNamespace, name });
  if (secret === undefined) throw new Unfit("CredentialsMissing", `${where} does not exist`);
  if (secret.type !== secretType) throw new Unfit("CredentialsMissing", `${where} is not of type ${secretType}`);
  const config = DockerConfig.safeParse(parsed(secret.texts[".dockerconfigjson"] ?? "")).data;
  const found = config && credentialsFor(config.auths, reference);
  if (found) return found;
  throw new Unfit("CredentialsMissing", `${where} does not have a username and password for "${reference.host}"`);
}

/** Returns the credentials of the entry that matches the longest part of the repository; undefined without any. */
function credentialsFor(
  auths: Record<string, z.infer<typeof Entry>>,
  { host, path }: Pick<Reference, "host" | "path">,
): Credentials | undefined {
  const repository = `${host}/${path}/`;
  const fitting = Object.entries(auths)
    .map(([key, entry]) => ({ place: placeOf(key), entry }))
    .filter(({ place }) => repository.startsWith(`${place}/`))
    .sort((a, b) => b.place.length - a.place.length);
  for (const { entry } of fitting) {
    const credentials = credentialsOf(entry);
    if (credentials) return credentials;
  }
  return undefined;
}

/** Normalizes a key (a host, a part of a repository, or the URL of an API), so that Docker Hub has only one name. */
function placeOf(key: string): string {
  const plain = key.replace(/^https?:\/\//, "").replace(/\/(v1|v2)?\/?$/, "").replace(/\/+$/, "");
  return plain.replace(/^(index\.)?docker\.io(?=\/|$)/, "registry-1.docker.io");
}

function credentialsOf({ auth, username, password }: z.infer<typeof Entry>): Credentials | undefined {
  if (username && password) return { username, password };
  const [, name, word] = /^([^:]+):(.+)$/s.exec(Buffer.from(auth ?? "", "base64").toString()) ?? [];
  return name !== undefined && word !== undefined ? { username: name, password: word } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller reports an invalid Secret without quoting the text
  }
}

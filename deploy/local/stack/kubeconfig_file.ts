import { dumpYaml } from "@kubernetes/client-node";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { KeyedCertificate } from "./certificate_authority.ts";

/** The URL of an API server, and the CA that identifies it. */
export interface ApiServerAddress {
  readonly url: string;
  readonly caPem: string;
}

interface KubeconfigContent {
  readonly apiServer: ApiServerAddress;
  readonly userName: string;
  readonly credentials: KeyedCertificate | { readonly token: string };
  /** Namespace of the context; default `default`. */
  readonly namespace?: string;
}

/** Writes a self-contained kubeconfig that only its owner can read, and returns its path. */
export async function writeKubeconfig(path: string, content: KubeconfigContent): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, kubeconfigText(content), { mode: 0o600 });
  return path;
}

/** Returns the kubeconfig of ConfigMap "kube-public/cluster-info": a server and its CA, without credentials. */
export function clusterInfoKubeconfig(apiServer: ApiServerAddress): string {
  return dumpYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "", cluster: clusterOf(apiServer) }],
    contexts: [],
    "current-context": "",
    preferences: {},
    users: [],
  });
}

function kubeconfigText({ apiServer, userName, credentials, namespace = "default" }: KubeconfigContent): string {
  return dumpYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "ostler", cluster: clusterOf(apiServer) }],
    contexts: [{ name: "ostler", context: { cluster: "ostler", user: userName, namespace } }],
    "current-context": "ostler",
    users: [{ name: userName, user: userOf(credentials) }],
  });
}

function clusterOf({ url, caPem }: ApiServerAddress): Record<string, string> {
  return { server: url, "certificate-authority-data": base64(caPem) };
}

function userOf(credentials: KubeconfigContent["credentials"]): Record<string, string> {
  if ("token" in credentials) return { token: credentials.token };
  return {
    "client-certificate-data": base64(credentials.certificatePem),
    "client-key-data": base64(credentials.keyPem),
  };
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

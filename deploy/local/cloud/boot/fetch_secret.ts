import { request } from "node:https";
import { Hopeless } from "../patience.ts";

/** Access to an API server before a kubeconfig exists. */
export interface ApiAccess {
  server: string;
  /** Certificate in PEM of the only CA that is trusted. */
  ca: string;
  token: string;
}

/** Namespace and name of a Secret. */
export interface SecretName {
  namespace: string;
  name: string;
}

/**
 * Reads one key of a Secret over verified TLS, like curl on a machine. The error for a refused request has the HTTP
 * status; no error quotes the body of the response, which can be secret.
 */
export async function fetchSecret(access: ApiAccess, secret: SecretName, key: string): Promise<string> {
  const label = `${secret.namespace}/${secret.name}`;
  const url = new URL(`/api/v1/namespaces/${secret.namespace}/secrets/${secret.name}`, access.server);
  const { status, body } = await get(url, access);
  if (status !== 200) throw new Error(`Failed to fetch Secret "${label}": HTTP ${status}`);
  const value = parseBody(body, label).data?.[key];
  if (typeof value !== "string") throw new Hopeless(`Invalid Secret "${label}": it has no key "${key}"`);
  return Buffer.from(value, "base64").toString("utf8");
}

function get(url: URL, access: ApiAccess): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${access.token}`, accept: "application/json" };
    const call = request(url, { ca: access.ca, headers, agent: false, timeout: 5000 }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
      response.on("error", reject);
    });
    call.on("timeout", () => call.destroy(new Error(`Failed to reach "${url.origin}": no response within 5 s`)));
    call.on("error", (error) => reject(new Error(`Failed to reach "${url.origin}": ${error.message}`)));
    call.end();
  });
}

function parseBody(body: string, label: string): { data?: Record<string, unknown> } {
  try {
    return JSON.parse(body);
  } catch {
    throw new Error(`Failed to read Secret "${label}": the response is not JSON`);
  }
}

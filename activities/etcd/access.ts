/**
 * Credentials for etcd from a Secret: `ca.crt`, `tls.crt` and `tls.key`, and `endpoints` if etcd does not run on nodes.
 */
import { refused } from "../failures.ts";
import { readSecretTexts } from "../config/read_facts.ts";
import type { Kube } from "../kube/client.ts";
import { attempting } from "../kube/status.ts";
import { type Credentials, faultInCertificates } from "./certificates.ts";
import { endpointOf } from "./endpoint.ts";

/** Holds the key in a private field, so that no conversion to text or JSON contains it. */
export class EtcdAccess {
  readonly #credentials: Credentials;

  /** `endpoints` are those of the Secret; undefined if etcd runs on the nodes. */
  constructor(credentials: Credentials, readonly endpoints?: readonly string[]) {
    this.#credentials = credentials;
  }

  get credentials(): Credentials {
    return this.#credentials;
  }
}

const longestPem = 100_000;
const mostEndpoints = 32;

/**
 * Reads the Secret. Throws Refused (EtcdAccessMissing) if the Secret does not exist or its credentials are incomplete
 * or invalid; the message quotes no values.
 */
export async function readEtcdAccess(kube: Kube, where: { namespace: string; name: string }): Promise<EtcdAccess> {
  const named = `Secret "${where.namespace}/${where.name}"`;
  const unfit = (state: string) => refused("EtcdAccessMissing", `Failed to reach etcd with ${named}: ${state}`);
  const secret = await attempting(`read ${named}`, () => readSecretTexts(kube, where));
  if (secret === undefined) throw unfit("the Secret does not exist");
  const { "ca.crt": ca = "", "tls.crt": cert = "", "tls.key": key = "", endpoints } = secret.texts;
  const lacking = Object.entries({ "ca.crt": ca, "tls.crt": cert, "tls.key": key }).find(([, text]) =>
    text === "" || text.length > longestPem
  );
  if (lacking) throw unfit(`its "${lacking[0]}" is ${lacking[1] === "" ? "missing" : "too long"}`);
  const fault = faultInCertificates({ ca, cert, key }, Date.now());
  if (fault !== undefined) throw unfit(fault);
  return new EtcdAccess({ ca, cert, key }, endpoints === undefined ? undefined : endpointsIn(endpoints, unfit));
}

function endpointsIn(text: string, unfit: (state: string) => Error): string[] {
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
  const endpoints = parts.map(endpointOf).filter((endpoint) => endpoint !== undefined);
  if (endpoints.length < parts.length) throw unfit('its "endpoints" must all be https URLs without a path');
  if (endpoints.length === 0 || endpoints.length > mostEndpoints) {
    throw unfit(`its "endpoints" has ${endpoints.length} URLs; expected 1 to ${mostEndpoints}`);
  }
  return endpoints;
}

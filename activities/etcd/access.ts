/** What lets us into an etcd, from a Secret: `ca.crt`, `tls.crt` and `tls.key`, and `endpoints` where they are not nodes. */
import { refused } from "../failures.ts";
import { readSecretTexts } from "../config/read_facts.ts";
import type { Kube } from "../kube/client.ts";
import { attempting } from "../kube/status.ts";
import { type Credentials, faultInCertificates } from "./certificates.ts";
import { endpointOf } from "./endpoint.ts";

/** Holds the key where nothing that turns it into text or JSON finds it. */
export class EtcdAccess {
  readonly #credentials: Credentials;

  /** `endpoints`: where to ask, as the Secret names it; undefined where etcd runs on the nodes. */
  constructor(credentials: Credentials, readonly endpoints?: readonly string[]) {
    this.#credentials = credentials;
  }

  get credentials(): Credentials {
    return this.#credentials;
  }
}

const longestPem = 100_000;
const mostEndpoints = 32;

/** Reads it; refuses a Secret that is missing, lacks something or can let nobody in, and quotes nothing of it. */
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

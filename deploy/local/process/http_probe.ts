import * as http from "node:http";
import * as https from "node:https";
import type { Probe } from "./wait_until.ts";

interface HttpProbeTarget {
  readonly url: string;
  /** CA of the server's certificate in PEM; for https only. */
  readonly caPem?: string;
  /** Client certificate, if the server requests one. */
  readonly client?: { readonly certificatePem: string; readonly keyPem: string };
}

/**
 * Returns a probe that succeeds when a GET request to the URL returns status 200; each attempt uses a new connection.
 */
export function httpProbe(target: HttpProbeTarget): Probe {
  const secure = target.url.startsWith("https:");
  const options = {
    agent: false as const,
    ...(target.caPem ? { ca: target.caPem } : {}),
    ...(target.client ? { cert: target.client.certificatePem, key: target.client.keyPem } : {}),
  };
  return (signal) =>
    new Promise((resolve, reject) => {
      const respond = (response: http.IncomingMessage): void => {
        response.resume();
        if (response.statusCode === 200) resolve();
        else reject(new Error(`Failed to get "${target.url}": status ${response.statusCode}`));
      };
      const request = (secure ? https : http).get(target.url, { ...options, signal }, respond);
      request.on("error", (error) => reject(new Error(`Failed to get "${target.url}": ${error.message}`)));
    });
}

/** Returns a probe that succeeds when all given probes succeed in the same attempt. */
export function allOf(...probes: readonly Probe[]): Probe {
  return async (signal) => {
    await Promise.all(probes.map((probe) => probe(signal)));
  };
}

import * as http from "node:http";
import * as https from "node:https";
import type { Probe } from "./wait_until.ts";

export interface HttpProbeTarget {
  readonly url: string;
  /** PEM of the authority that must have signed the server's certificate; for https only. */
  readonly caPem?: string;
  /** The caller's own certificate, where the server asks for one. */
  readonly client?: { readonly certificatePem: string; readonly keyPem: string };
}

/** A probe that holds when a GET of the URL answers 200; each attempt opens and closes its own connection. */
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
        else reject(new Error(`Cannot get "${target.url}": status ${response.statusCode}`));
      };
      const request = (secure ? https : http).get(target.url, { ...options, signal }, respond);
      request.on("error", (error) => reject(new Error(`Cannot get "${target.url}": ${error.message}`)));
    });
}

/** A probe that holds when all of the given ones hold in the same attempt. */
export function allOf(...probes: readonly Probe[]): Probe {
  return async (signal) => {
    await Promise.all(probes.map((probe) => probe(signal)));
  };
}

/** The webhook's server certificate, which is renewed while the server runs. */
import type { Server } from "node:https";
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@temporalio/common";

export interface Shown {
  cert: string;
  key: string;
}

/** A source of certificates. */
export interface CertificateSource {
  /** Returns the current certificate; a rejection leaves the server unchanged. */
  look(): Promise<Shown>;
  /**
   * Registers the certificate's CA with the API server; returns false if a webhook configuration is missing, or after a
   * conflict.
   */
  tell(): Promise<boolean>;
}

export interface Serving {
  server: Pick<Server, "setSecureContext" | "on" | "off">;
  source: CertificateSource;
  /** Milliseconds between checks: `soon` after a change, a conflict or a failure, otherwise `usual`. */
  restMs: { soon: number; usual: number };
}

interface Deps {
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
}

/** Returns the first certificate as soon as it is available; undefined if `signal` aborts first. */
export async function firstShown(
  source: Pick<CertificateSource, "look">,
  { log, signal }: Deps,
  restMs: number,
): Promise<Shown | undefined> {
  let said = "";
  while (!signal.aborted) {
    try {
      return await source.look();
    } catch (error) {
      const { message } = error as Error;
      if (message !== said) log.warn("Failed to get a certificate; retrying", { error });
      said = message;
    }
    await rest(restMs, signal);
  }
  return undefined;
}

/** Serves and registers the current certificate until `signal` aborts; the server starts with `first`. */
export async function keepServing(serving: Serving, first: Shown, deps: Deps): Promise<void> {
  const { server, restMs } = serving;
  let doubt = new AbortController();
  // A caller refuses the connection if it does not trust the certificate. Another webhook may have created a new
  // authority since the last check, so the next check follows soon.
  const onRefused = (): void => doubt.abort();
  server.on("tlsClientError", onRefused);
  try {
    for await (const isSettled of looks(serving, first, deps)) {
      await rest(restMs.soon, deps.signal);
      // Refused connections cause at most one check per short pause.
      if (isSettled) await rest(restMs.usual - restMs.soon, AbortSignal.any([deps.signal, doubt.signal]));
      doubt = new AbortController();
    }
  } finally {
    server.off("tlsClientError", onRefused);
  }
}

/**
 * Checks the certificate each time that the next value is requested; yields true if the certificate is unchanged and
 * all webhook configurations are up to date.
 */
async function* looks({ server, source }: Serving, first: Shown, { log, signal }: Deps): AsyncGenerator<boolean> {
  let shown = first;
  let said = "";
  while (!signal.aborted) {
    let isSettled = false;
    try {
      const now = await source.look();
      const isNew = now.cert !== shown.cert || now.key !== shown.key;
      if (isNew) {
        server.setSecureContext({ cert: now.cert, key: now.key });
        shown = now;
        log.info("Certificate renewed");
      }
      isSettled = await source.tell() && !isNew;
      said = "";
    } catch (error) {
      const { message } = error as Error;
      if (message !== said) {
        log.warn(
          "Failed to renew the certificate or register it with the API server; keeping the current certificate",
          { error },
        );
      }
      said = message;
    }
    yield isSettled;
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined); // aborting ends the pause early
}

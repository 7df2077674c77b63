/** The certificate that the webhook's server shows, which is renewed while it runs. */
import type { Server } from "node:https";
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@temporalio/common";

export interface Shown {
  cert: string;
  key: string;
}

/** Where certificates come from. */
export interface CertificateSource {
  /** What to show now; what it rejects with leaves the server as it is. */
  look(): Promise<Shown>;
  /** Tells the API server of it; false where something is not there yet, or another was faster. */
  tell(): Promise<boolean>;
}

export interface Serving {
  server: Pick<Server, "setSecureContext" | "on" | "off">;
  source: CertificateSource;
  /** Between looks (ms): while something changes, and else. */
  restMs: { soon: number; usual: number };
}

interface Deps {
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
}

/** What to begin with, as soon as it can be had; undefined where `signal` aborts first. */
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
      if (message !== said) log.warn("Cannot serve without a certificate; retrying", { error });
      said = message;
    }
    await rest(restMs, signal);
  }
  return undefined;
}

/** Shows and tells what there is, until `signal` aborts; `first` is what the server has. */
export async function keepServing(serving: Serving, first: Shown, deps: Deps): Promise<void> {
  const { server, restMs } = serving;
  let doubt = new AbortController();
  // Who calls may not trust it: another webhook has made a new one, and we have not looked since.
  const onRefused = (): void => doubt.abort();
  server.on("tlsClientError", onRefused);
  try {
    for await (const isSettled of looks(serving, first, deps)) {
      await rest(restMs.soon, deps.signal);
      // However many do not trust it, there is a look at each of the short rests at most.
      if (isSettled) await rest(restMs.usual - restMs.soon, AbortSignal.any([deps.signal, doubt.signal]));
      doubt = new AbortController();
    }
  } finally {
    server.off("tlsClientError", onRefused);
  }
}

/** Looks each time that it is asked for the next, and says whether nothing is under way. */
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
        log.warn("Failed to renew the certificate or register it with the API server; keeping the last one", { error });
      }
      said = message;
    }
    yield isSettled;
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined); // aborting ends the rest early
}

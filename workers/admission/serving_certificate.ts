/** The webhook's certificate, which is renewed while the webhook runs. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Server } from "node:https";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Logger } from "@temporalio/common";

export interface CertificateFiles {
  cert: string;
  key: string;
}

/** Reads tls.crt and tls.key of a folder; throws when they are missing or do not belong together. */
export async function readCertificate(folder: string): Promise<CertificateFiles> {
  try {
    const [cert, key] = await Promise.all(["tls.crt", "tls.key"].map((file) => readFile(join(folder, file), "utf8")));
    const files = { cert: cert ?? "", key: key ?? "" };
    if (new X509Certificate(files.cert).checkPrivateKey(createPrivateKey(files.key))) return files;
    throw new Error("tls.crt and tls.key do not belong together");
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    throw new Error(`Cannot use the certificate in "${folder}": ${code ?? message}`);
  }
}

export interface FollowedCertificate {
  server: Pick<Server, "setSecureContext">;
  /** What the server has now. */
  certificate: CertificateFiles;
  folder: string;
  lookEveryMs: number;
}

/** Gives the server what stands in the folder, until `signal` aborts; what cannot be read leaves it as it is. */
export async function followCertificate(
  { server, certificate, folder, lookEveryMs }: FollowedCertificate,
  { log, signal }: { log: Pick<Logger, "info" | "warn">; signal: AbortSignal },
): Promise<void> {
  let current = certificate;
  while (!signal.aborted) {
    await setTimeout(lookEveryMs, undefined, { signal }).catch(() => undefined); // aborting ends the rest early
    try {
      const now = await readCertificate(folder);
      if (now.cert === current.cert && now.key === current.key) continue;
      server.setSecureContext(current = now);
      log.info("Certificate renewed");
    } catch (error) {
      log.warn("Cannot renew the certificate: the last one goes on", { error });
    }
  }
}

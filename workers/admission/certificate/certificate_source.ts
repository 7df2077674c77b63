/** Selects the source of the webhook's certificate: a mounted folder, else a certificate that the webhooks create. */
import type { Kube } from "../../../activities/kube/client.ts";
import { isHeldByPolicy } from "../../../activities/kube/machine_deployment.ts";
import { register } from "../registration.ts";
import type { WebhookEndpoints } from "../webhook_endpoint.ts";
import type { CertificateSource, Shown } from "./keep_serving.ts";
import { OwnCertificate } from "./own_certificate.ts";
import type { SelfMade } from "./self_made_state.ts";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The Secret in the webhook's namespace; the name differs from that of cert-manager's Secret. */
const secretName = "ostler-webhook-authority";

interface SourceOrder {
  kube: Kube;
  endpoints: WebhookEndpoints;
  /** Folder of a mounted certificate. */
  folder: string;
  overlapMs: number;
}

/** Returns the source, selected once: a certificate that appears in the folder later is used only after a restart. */
export function certificateSourceOf({ kube, endpoints, folder, overlapMs }: SourceOrder): CertificateSource {
  const holds = async (): Promise<boolean> => endpoints.pools !== undefined && !await isHeldByPolicy(kube);
  if (isMounted(folder)) {
    return {
      look: () => readCertificate(folder),
      // The component that creates the certificate, such as cert-manager, also writes the CA bundle, so no CA is passed
      // here.
      tell: async () => await register(kube, { endpoints, holds: await holds() }) === "all",
    };
  }
  const { management, pools } = endpoints;
  const { namespace } = management;
  const hosts = [...new Set([...management.hosts, ...pools?.hosts ?? []])];
  const own = new OwnCertificate(kube.management?.kube ?? kube, {
    secret: { namespace, name: secretName },
    hosts,
    overlapMs,
  });
  let state: SelfMade | undefined;
  return {
    look: async () => (state = await own.look()).serving,
    tell: async () => {
      if (!state) return false;
      const told = await register(kube, { endpoints, trusted: state.authorities.join(""), holds: await holds() });
      if (told !== "outpaced") own.sawTrusted(state);
      return told === "all";
    },
  };
}

// A certificate in the files of a folder, which another component such as cert-manager creates and renews.

/** Returns whether the folder has a certificate. */
function isMounted(folder: string): boolean {
  return existsSync(join(folder, "tls.crt"));
}

/** Reads tls.crt and tls.key of a folder; throws if they are missing or do not match. */
export async function readCertificate(folder: string): Promise<Shown> {
  try {
    const [cert, key] = await Promise.all(["tls.crt", "tls.key"].map((file) => readFile(join(folder, file), "utf8")));
    const files = { cert: cert ?? "", key: key ?? "" };
    if (new X509Certificate(files.cert).checkPrivateKey(createPrivateKey(files.key))) return files;
    throw new Error("tls.crt and tls.key do not match");
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    throw new Error(`Failed to use the certificate in "${folder}": ${code ?? message}`);
  }
}

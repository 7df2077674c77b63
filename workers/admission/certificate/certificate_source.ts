/** Who makes the webhook's certificate: somebody who mounts it, else the webhooks themselves. */
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

/** In the webhook's namespace; not the name under which cert-manager keeps one. */
const secretName = "ostler-webhook-authority";

interface SourceOrder {
  kube: Kube;
  endpoints: WebhookEndpoints;
  /** Where a mounted certificate would be. */
  folder: string;
  overlapMs: number;
}

/** Chosen once, when the process starts. */
export function certificateSourceOf({ kube, endpoints, folder, overlapMs }: SourceOrder): CertificateSource {
  const holds = async (): Promise<boolean> => endpoints.pools !== undefined && !await isHeldByPolicy(kube);
  if (isMounted(folder)) {
    return {
      look: () => readCertificate(folder),
      // Whoever mounts it tells whom to trust as well.
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

// A certificate that somebody else makes and renews, such as cert-manager: files of a folder.

/** Whether somebody put a certificate into the folder. */
function isMounted(folder: string): boolean {
  return existsSync(join(folder, "tls.crt"));
}

/** Reads tls.crt and tls.key of a folder; throws when they are missing or do not belong together. */
export async function readCertificate(folder: string): Promise<Shown> {
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

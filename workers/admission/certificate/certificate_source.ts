/** Who makes the webhook's certificate: somebody who mounts it, else the webhooks themselves. */
import type { Kube } from "../../../activities/kube/client.ts";
import { isHeldByPolicy } from "../../../activities/kube/hold_admission.ts";
import { register } from "../registration.ts";
import type { WebhookEndpoints } from "../webhook_endpoint.ts";
import type { CertificateSource } from "./keep_serving.ts";
import { isMounted, readCertificate } from "./mounted.ts";
import { OwnCertificate } from "./own_certificate.ts";
import type { SelfMade } from "./self_made_state.ts";

/** In the webhook's namespace; not the name under which cert-manager keeps one. */
const secretName = "ostler-webhook-authority";

export interface SourceOrder {
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

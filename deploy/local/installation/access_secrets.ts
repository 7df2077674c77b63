/** The Secrets of an installation: credentials for Temporal, and addresses of notification receivers. */
import { namespace } from "./ostler_pods.ts";
import { noticeTemplate } from "./notice_receiver.ts";
import type { ManifestObject } from "../stack/resource_paths.ts";
import type { Access } from "./temporal_front.ts";

export const secretNames = { client: "temporal-client", server: "temporal-ca", notices: "ostler-notices" } as const;

/** Returns the manifests of all Secrets. */
export function accessSecrets(access: Access, noticeUrl: string): ManifestObject[] {
  const { certificatePem, keyPem, caPem } = access;
  return [
    secret(secretNames.client, { "tls.crt": certificatePem, "tls.key": keyPem }, "kubernetes.io/tls"),
    secret(secretNames.server, { "ca.crt": caPem }),
    secret(secretNames.notices, { webhook: noticeUrl, "template.json": noticeTemplate }),
  ];
}

function secret(
  name: string,
  stringData: Record<string, string>,
  type = "Opaque",
): ManifestObject & { type: string; stringData: Record<string, string> } {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, type, stringData };
}

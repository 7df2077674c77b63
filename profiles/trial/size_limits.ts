import { gzipSync } from "node:zlib";
import type { Phase } from "../generators/user_data_generator.ts";
import { bytesOf } from "../os_config.ts";

/**
 * The maximum size of user-data in bytes, before base64:
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html,
 * https://www.alibabacloud.com/help/doc-detail/52012.htm, https://docs.hetzner.cloud (`user_data` of a server),
 * https://docs.openstack.org/nova/latest/user/user-data.html (65535 in base64),
 * https://learn.microsoft.com/en-us/azure/virtual-machines/custom-data (osProfile.customData),
 * https://docs.digitalocean.com/reference/api (`user_data` of a Droplet),
 * https://cloud.google.com/compute/docs/reference/rest/v1/Metadata (`items[].value`).
 * Other providers document no limit.
 */
const userDataLimits: Record<string, number> = {
  aws: 16_384,
  alibaba: 16_384,
  hetzner: 32_768,
  openstack: 49_149,
  azure: 65_535,
  digitalocean: 65_536,
  gce: 262_144,
};

/** The maximum size of a Secret in bytes, 1 MiB. */
export const secretLimit = 1_048_576;

interface SizedUserData {
  phase: Phase;
  provider: string;
  operatingSystem: string;
  text: string;
}

/**
 * Returns which limit the user-data exceeds, or undefined: the provider limits the bootstrap phase, a Secret both
 * phases.
 */
export function sizeWarning({ phase, provider, operatingSystem, text }: SizedUserData): string | undefined {
  const stored = bytesOf(text);
  if (stored > secretLimit) {
    return `the ${phase} user-data has ${stored} bytes; the limit of a Secret is ${secretLimit}`;
  }
  const limit = phase === "bootstrap" ? userDataLimits[provider] : undefined;
  if (limit === undefined) return undefined;
  // machine-controller compresses user-data for AWS, except for Flatcar.
  const sent = provider === "aws" && operatingSystem !== "flatcar" ? gzipSync(text).length : stored;
  if (sent <= limit) return undefined;
  return `the ${phase} user-data has ${sent} bytes; the limit of provider "${provider}" is ${limit}`;
}

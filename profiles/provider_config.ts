import { z } from "zod";
import { faultsOf, ProfileRefused } from "./refusal.ts";

/** The IP families a pool's machines may have, in the order in which they are preferred. */
export const ipFamilies = ["", "IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4"] as const;

/** `spec.template.spec.providerSpec.value` of a MachineDeployment, as strict as machine-controller reads it. */
export const ProviderConfig = z.strictObject({
  sshPublicKeys: z.array(z.string()).nullish(),
  caPublicKey: z.string().nullish(),
  cloudProvider: z.string(),
  cloudProviderSpec: z.unknown().optional(),
  operatingSystem: z.string(),
  operatingSystemSpec: z.unknown().optional(),
  network: z.strictObject({
    cidr: z.string().optional(),
    gateway: z.string().optional(),
    dns: z.strictObject({ servers: z.array(z.string()).nullish() }).nullish(),
    // Operating System Manager never validates it, and templates print what is written.
    ipFamily: z.string().optional(),
  }).nullish(),
  overwriteCloudConfig: z.string().nullish(),
});
export type ProviderConfig = z.infer<typeof ProviderConfig>;

/** Decodes a provider config; throws ProfileRefused (ProviderConfigInvalid) naming the fields. */
export function parseProviderConfig(value: unknown, subject: string): ProviderConfig {
  const parsed = ProviderConfig.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ProfileRefused(
    "ProviderConfigInvalid",
    `Cannot read the provider config of "${subject}": ${faultsOf(parsed.error, "value")}`,
  );
}

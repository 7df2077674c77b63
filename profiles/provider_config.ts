import { z } from "zod";
import { inWords } from "./fault_words.ts";
import { faultsOf, ProfileRefused } from "./refusal.ts";

/** The values of `network.ipFamily`; in a value with two families, the preferred family is the first. */
export const ipFamilies = ["", "IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4"] as const;

/** `spec.template.spec.providerSpec.value` of a MachineDeployment, validated as strictly as by machine-controller. */
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
    // Operating System Manager does not validate the IP family, and templates print it unchanged.
    ipFamily: z.string().optional(),
  }).nullish(),
  overwriteCloudConfig: z.string().nullish(),
});
export type ProviderConfig = z.infer<typeof ProviderConfig>;

/** Returns a decoded provider config; throws ProfileRefused (ProviderConfigInvalid) that names the invalid fields. */
export function parseProviderConfig(value: unknown, subject: string): ProviderConfig {
  const parsed = ProviderConfig.safeParse(value, { error: inWords });
  if (parsed.success) return parsed.data;
  throw new ProfileRefused(
    "ProviderConfigInvalid",
    `Invalid provider config of "${subject}": ${faultsOf(parsed.error, "value")}`,
    { at: parsed.error.issues[0]?.path },
  );
}

/** The provider part of a machine template, decoded as strictly as machine-controller does. */
import { z } from "zod";
import { refused } from "../failures.ts";
import type { MachineDeployment } from "../kube/schemas.ts";

const ProviderConfig = z.strictObject({
  sshPublicKeys: z.array(z.string()).nullish(),
  caPublicKey: z.string().nullish(),
  cloudProvider: z.string(),
  cloudProviderSpec: z.unknown(),
  operatingSystem: z.string(),
  operatingSystemSpec: z.looseObject({ distUpgradeOnBoot: z.boolean().optional() }).nullish(),
  network: z.strictObject({
    cidr: z.string().optional(),
    gateway: z.string().optional(),
    dns: z.strictObject({ servers: z.array(z.string()).nullish() }).nullish(),
    ipFamily: z.enum(["", "IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4"]).optional(),
  }).nullish(),
  overwriteCloudConfig: z.string().nullish(),
});
export type ProviderConfig = z.infer<typeof ProviderConfig>;

/** Decodes `spec.template.spec.providerSpec.value`, or refuses it naming the field. */
export function providerConfigOf(deployment: MachineDeployment): ProviderConfig {
  const parsed = ProviderConfig.safeParse(deployment.spec.template?.spec?.providerSpec?.value);
  if (parsed.success) return parsed.data;
  const { namespace, name } = deployment.metadata;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "value"}: ${message}`);
  throw refused(
    "ProviderConfigInvalid",
    `Cannot read the provider config of "${namespace}/${name}": ${faults.slice(0, 3).join("; ")}`,
  );
}

import { z } from "zod";
import { inWords } from "./fault_words.ts";
import { asObject } from "./go_json.ts";
import { faultsOf, ProfileRefused } from "./refusal.ts";

/** The values of `network.ipFamily`; in a value with two families, the preferred family is the first. */
export const ipFamilies = ["", "IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4"] as const;

const dnsFields = z.strictObject({ servers: z.array(z.string()).nullish() });
const networkFields = z.strictObject({
  cidr: z.string().optional(),
  gateway: z.string().optional(),
  dns: dnsFields.nullish(),
  // Operating System Manager does not validate the IP family, and templates print it unchanged.
  ipFamily: z.string().optional(),
});

/** `spec.template.spec.providerSpec.value` of a MachineDeployment, validated as strictly as by machine-controller. */
export const ProviderConfig = z.strictObject({
  sshPublicKeys: z.array(z.string()).nullish(),
  caPublicKey: z.string().nullish(),
  cloudProvider: z.string(),
  cloudProviderSpec: z.unknown().optional(),
  operatingSystem: z.string(),
  operatingSystemSpec: z.unknown().optional(),
  network: networkFields.nullish(),
  overwriteCloudConfig: z.string().nullish(),
});
export type ProviderConfig = z.infer<typeof ProviderConfig>;

/**
 * Returns a provider config as Go finds its fields: under their names in the schema, in whatever case they are written,
 * and without those that are null.
 */
export function asGoReads(value: unknown): unknown {
  const config = named(value, ProviderConfig);
  const found = asObject(config);
  if (found?.["network"] === undefined) return config;
  const network = named(found["network"], networkFields);
  const dns = asObject(network)?.["dns"];
  const inner = dns === undefined ? network : { ...asObject(network), dns: named(dns, dnsFields) };
  return { ...found, network: inner };
}

function named(value: unknown, { shape }: { shape: object }): unknown {
  const object = asObject(value);
  if (object === undefined) return value;
  const names = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]));
  const read = Object.entries(object).map(([key, field]) => [names.get(key.toLowerCase()), key, field] as const);
  return Object.fromEntries(
    read.filter(([name, , field]) => name === undefined || field !== null).map(([name, key, field]) => [
      name ?? key,
      field,
    ]),
  );
}

/** Returns a decoded provider config; throws ProfileRefused (ProviderConfigInvalid) that names the invalid fields. */
export function parseProviderConfig(value: unknown, subject: string): ProviderConfig {
  const parsed = ProviderConfig.safeParse(asGoReads(value), { error: inWords });
  if (parsed.success) return parsed.data;
  throw new ProfileRefused(
    "ProviderConfigInvalid",
    `Invalid provider config of "${subject}": ${faultsOf(parsed.error, "value")}`,
    { at: parsed.error.issues[0]?.path },
  );
}

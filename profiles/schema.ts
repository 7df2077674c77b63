import { z } from "zod";
import { inWords } from "./fault_words.ts";
import { isLargerThan, largestProfile } from "./object_size.ts";
import { Parameter } from "./parameter.ts";
import { faultsOf, ProfileRefused } from "./refusal.ts";

// SemVer 2.0 with a leading v; the pattern of Operating System Manager is not anchored at the start.
const profileVersion =
  /^v(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

/**
 * The providers of machine-controller. A profile may name other providers, such as those of earlier versions of
 * machine-controller, but no pool can use the profile on them.
 */
const cloudProviders: readonly string[] = [
  ...["aws", "azure", "digitalocean", "edge", "gce", "hetzner", "kubevirt", "linode", "nutanix", "openstack"],
  ...["vsphere", "fake", "alibaba", "anexia", "scaleway", "baremetal", "external", "vmware-cloud-director"],
  "opennebula",
];

/**
 * A file: `permissions` are octal digits written as a decimal number (644); `encoding` is its encoding in user-data.
 */
export const OsFile = z.strictObject({
  path: z.string().startsWith("/", "must be an absolute path"),
  permissions: z.int().refine((mode) => /^[0-7]{1,4}$/.test(String(mode)), "must be octal digits, such as 644")
    .default(644),
  content: z.strictObject({
    inline: z.strictObject({ encoding: z.string().optional(), data: z.string() }),
  }),
});
export type OsFile = z.infer<typeof OsFile>;

export const OsUnit = z.strictObject({
  name: z.string().min(1),
  enable: z.boolean().optional(),
  mask: z.boolean().optional(),
  content: z.string().optional(),
  dropIns: z.array(z.strictObject({ name: z.string().min(1), content: z.string() })).optional(),
});
export type OsUnit = z.infer<typeof OsUnit>;

const settings = z.record(z.string(), z.string());

export const CloudInitModules = z.strictObject({
  bootcmd: z.array(z.string()).optional(),
  runcmd: z.array(z.string()).optional(),
  rh_subscription: settings.optional(),
  yum_repos: z.record(z.string(), settings).optional(),
  yum_repo_dir: z.string().optional(),
});
export type CloudInitModules = z.infer<typeof CloudInitModules>;

/** One phase of a profile; the contents of files and snippets are templates. */
export const ProfilePhase = z.strictObject({
  supportedContainerRuntimes: z.array(z.strictObject({
    name: z.enum(["docker", "containerd"]),
    files: z.array(OsFile),
    templates: settings.optional(),
  })).optional(),
  templates: settings.optional(),
  units: z.array(OsUnit).optional(),
  files: z.array(OsFile).optional(),
  modules: CloudInitModules.optional(),
  /** Ostler's own field: packages to install in addition to those that the profile itself needs. */
  packages: z.array(z.string().regex(/^[a-z0-9][a-z0-9.+_:-]*$/i, "must be a package name")).optional(),
});
export type ProfilePhase = z.infer<typeof ProfilePhase>;

/** The maximum number of parameters, because each pattern can take up to a tenth of a second. */
const mostParameters = 50;
const parameterName = z.string().regex(/^[a-z][A-Za-z0-9]{0,62}$/);

const wholeProfile = z.strictObject({
  osName: z.enum(["flatcar", "rhel", "ubuntu", "amzn2", "rockylinux", "debian"]),
  osVersion: z.string(),
  version: z.string().regex(profileVersion, "must be SemVer with a leading v, such as v1.0.0"),
  /** Language of the templates; missing only in a profile that `extends` another and uses the language of that one. */
  templating: z.enum(["go", "eta"]).optional(),
  provisioningUtility: z.enum(["cloud-init", "ignition"]).default("cloud-init"),
  /** Ostler's own field: version of the Ignition specification of the user-data; 2.3.0 if not set. */
  ignitionVersion: z.enum(["2.3.0", "3.3.0"]).optional(),
  supportedCloudProviders: z.array(z.strictObject({
    name: z.string().min(1),
    spec: z.looseObject({}).optional(),
  })),
  /**
   * Another profile of the same namespace, from which this one differs only in the given fields: see `resolveProfile`.
   */
  extends: z.strictObject({ name: z.string().min(1) }).optional(),
  parameters: z.record(parameterName, Parameter, {
    error: ({ code }) => code === "invalid_key" ? "must be a name in camel case" : undefined,
  }).optional(),
  bootstrapConfig: ProfilePhase,
  provisioningConfig: ProfilePhase,
}).superRefine(({ osName, provisioningUtility, ignitionVersion, ...phases }, context) => {
  if (ignitionVersion !== undefined && provisioningUtility !== "ignition") {
    context.addIssue({
      code: "custom",
      path: ["ignitionVersion"],
      message: "requires provisioningUtility ignition",
    });
  }
  for (const phase of ["bootstrapConfig", "provisioningConfig"] as const) {
    if (osName !== "flatcar" || !phases[phase].packages?.length) continue;
    context.addIssue({
      code: "custom",
      path: [phase, "packages"],
      message: "must be empty, because Flatcar cannot install packages",
    });
  }
});

/**
 * The `.spec` of an OperatingSystemProfile: the fields of Operating System Manager, and Ostler's own `templating`,
 * `extends`, `parameters`, `packages` and `ignitionVersion`. With `extends`, only `osName` and `version` are required.
 */
export const OsProfile = z.preprocess(withDefaults, wholeProfile);
export type OsProfile = z.infer<typeof OsProfile>;

/** The language of a profile's templates. */
export type Templating = NonNullable<OsProfile["templating"]>;

function withDefaults(spec: unknown, context: z.RefinementCtx): unknown {
  if (typeof spec !== "object" || spec === null || Array.isArray(spec)) return spec;
  const excess = excessOf(spec);
  if (excess !== undefined) context.addIssue({ code: "custom", ...excess });
  if (!("extends" in spec)) return { templating: "go", ...spec };
  return { osVersion: "", supportedCloudProviders: [], bootstrapConfig: {}, provisioningConfig: {}, ...spec };
}

/** Returns the field that is too large to validate, or undefined if none is. */
function excessOf(spec: { parameters?: unknown }): { path: string[]; message: string } | undefined {
  if (isLargerThan(spec, largestProfile)) return { path: [], message: `must have at most ${largestProfile} bytes` };
  if (Object.keys(spec.parameters ?? {}).length <= mostParameters) return undefined;
  return { path: ["parameters"], message: `must have at most ${mostParameters} entries` };
}

/**
 * Returns the `.spec` of an OperatingSystemProfile; throws ProfileRefused (ProfileInvalid) that names invalid fields.
 */
export function parseProfile(spec: unknown): OsProfile {
  const parsed = OsProfile.safeParse(spec, { error: inWords });
  if (parsed.success) return parsed.data;
  const at = parsed.error.issues[0]?.path;
  throw new ProfileRefused("ProfileInvalid", `Invalid profile: ${faultsOf(parsed.error, "spec")}`, { at });
}

/** Returns the names of the providers on which a pool can use the profile. */
export function usableProviders({ supportedCloudProviders }: OsProfile): string[] {
  return supportedCloudProviders.map(({ name }) => name).filter((name) => cloudProviders.includes(name));
}

/** Returns a warning for each provider of the profile on which no pool can use it, with its index in the list. */
export function unknownProviders({ supportedCloudProviders }: OsProfile): { index: number; message: string }[] {
  return supportedCloudProviders.flatMap(({ name }, index) =>
    cloudProviders.includes(name)
      ? []
      : [{ index, message: `"${name}" is not a known provider; no pool on it can use the profile` }]
  );
}

import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical_json.ts";
import { defaultProfiles } from "./catalogue.ts";
import { registryHostFiles } from "./containerd/registry_hosts.ts";
import type { TemplateEngines } from "./engines/kept_engines.ts";
import { type TemplateEngine, TemplateFault } from "./engines/template_engine.ts";
import type { RenderFacts } from "./facts.ts";
import type { OsConfig, OsConfigPhase } from "./os_config.ts";
import type { ProviderConfig } from "./provider_config.ts";
import { hidden } from "./hide_secrets.ts";
import { checkNetworkFits } from "./profile_fit.ts";
import { ProfileRefused } from "./refusal.ts";
import { type OsFile, type OsProfile, parseProfile, type ProfilePhase } from "./schema.ts";
import { packagesOf, sharedEngines, templateData } from "./templates.ts";
import { type OsSettings, osSettings } from "./os_settings.ts";

/** The only supported container runtime. */
const containerRuntime = "containerd";

type Runtime = NonNullable<ProfilePhase["supportedContainerRuntimes"]>[number];

interface Sources {
  phase: ProfilePhase;
  /** Templates of the same scope can influence each other; templates of different scopes cannot. */
  scope: string;
  data: unknown;
  sshKeys: string[];
}

/**
 * Renders a profile whose parents are already merged in. The result contains the secrets of `facts`: pass `facts` for
 * user-data, and `hideSecrets(facts)` for everything that people can see.
 * Throws ProfileRefused if the profile can never render, and any other error if a retry can help.
 */
export async function renderConfig(
  profile: OsProfile,
  facts: RenderFacts,
  engines: TemplateEngines = sharedEngines(),
): Promise<OsConfig> {
  const { provider } = facts;
  if (profile.extends !== undefined) throw new Error("Failed to render the profile: its parents are not merged in");
  checkNetworkFits(provider);
  const subscribed = withRhelSubscription(profile, provider);
  const shared = {
    scope: `${digestOf(profile)} ${await readerOf(profile, facts)}`,
    data: templateData(profile, facts),
    sshKeys: provider.sshPublicKeys ?? [],
  };
  const engine = engines[profile.templating ?? "go"];
  const bootstrapConfig = await renderPhase({ phase: subscribed.bootstrapConfig, ...shared }, engine);
  const provisioningConfig = await renderPhase({ phase: subscribed.provisioningConfig, ...shared }, engine);
  const registryPhase = isAllInBootstrap(profile, provider) ? bootstrapConfig : provisioningConfig;
  registryPhase.files.push(...registryHostFiles(facts.settings));
  const packages = packagesOf(profile);
  // Eta profiles install their packages themselves; cloud-init installs those of Go profiles, in the first phase only.
  if (profile.templating !== "eta" && packages.length > 0) bootstrapConfig.packages = packages;
  return {
    osName: profile.osName,
    osVersion: profile.osVersion,
    cloudProvider: { name: provider.cloudProvider, spec: provider.cloudProviderSpec },
    bootstrapConfig,
    provisioningConfig,
    provisioningUtility: profile.provisioningUtility,
    // The default version is left out, so that setting it explicitly in a profile does not change the digest.
    ...(profile.ignitionVersion === "3.3.0" ? { ignitionVersion: profile.ignitionVersion } : {}),
  };
}

const digests = new WeakMap<OsProfile, string>();

/** Returns the SHA-256 of a profile in hex; cached for each object, because pools share profiles. */
function digestOf(profile: OsProfile): string {
  const digest = digests.get(profile) ?? createHash("sha256").update(canonicalJson(profile)).digest("hex");
  digests.set(profile, digest);
  return digest;
}

/**
 * Returns the readers of the result: everybody ("all") if it has no secrets, otherwise the machines of one pool
 * ("namespace/name"). A process that renders for everybody never has a secret, and a process with the secrets of a pool
 * serves no other pool. Ostler's own templates share a process for all pools ("machines"), because they leave nothing
 * behind, and starting a process for each pool takes several times as long as a render.
 */
async function readerOf(
  profile: OsProfile,
  { secrets, deployment: { namespace, name } }: RenderFacts,
): Promise<string> {
  if (secrets.token === hidden) return "all";
  const digests = await readShipped();
  return digests.has(digestOf(profile)) ? "machines" : `${namespace}/${name}`;
}

let shipped: Promise<Set<string>> | undefined;

/** Reads the digests of the profiles that Ostler ships, once; a failed read is repeated at the next call. */
function readShipped(): Promise<Set<string>> {
  return shipped ??= defaultProfiles().then(
    (all) => new Set(all.map(({ spec }) => digestOf(parseProfile(spec)))),
    (error: unknown) => {
      shipped = undefined;
      throw error;
    },
  );
}

/**
 * Returns whether machines run only the first phase: the second phase is empty, and either the first phase sets up
 * containerd, or the provider cannot run a second phase. Operating System Manager writes registry mirrors into the
 * second phase even then, so they never reach a machine.
 */
function isAllInBootstrap({ bootstrapConfig, provisioningConfig }: OsProfile, provider: ProviderConfig): boolean {
  const { templates: _, ...contents } = provisioningConfig;
  if (Object.values(contents).some((content) => Object.keys(content ?? {}).length > 0)) return false;
  return provider.cloudProvider === "anexia" || runtimeOf(bootstrapConfig) !== undefined ||
    filesOf(bootstrapConfig).some(({ path }) => path.startsWith("/etc/containerd/"));
}

async function renderPhase(sources: Sources, engine: TemplateEngine): Promise<OsConfigPhase> {
  const { phase, scope, data, sshKeys } = sources;
  const snippets = { ...runtimeOf(phase)?.templates, ...phase.templates };
  const files = filesOf(phase);
  const templates = files.map(({ path, content }) => ({ path, template: content.inline.data }));
  const texts = await asRefusal(engine.render({ scope, files: templates, snippets, data }));
  return {
    files: files.map((file, index) => withText(file, texts[index] ?? "")),
    ...(phase.units ? { units: phase.units } : {}),
    userSSHKeys: sshKeys,
    ...(phase.modules ? { modules: phase.modules } : {}),
  };
}

function runtimeOf({ supportedContainerRuntimes = [] }: ProfilePhase): Runtime | undefined {
  return supportedContainerRuntimes.find(({ name }) => name === containerRuntime);
}

function filesOf(phase: ProfilePhase): OsFile[] {
  return [...phase.files ?? [], ...runtimeOf(phase)?.files ?? []];
}

function withText({ path, permissions, content: { inline: { encoding } } }: OsFile, data: string): OsFile {
  const inline = { ...(encoding ? { encoding } : {}), data };
  // Operating System Manager treats missing permissions as 644.
  return { path, permissions: permissions || 644, content: { inline } };
}

async function asRefusal(rendering: Promise<string[]>): Promise<string[]> {
  try {
    return await rendering;
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    const subject = error.file === undefined ? "the profile" : `file "${error.file}"`;
    throw new ProfileRefused("RenderFailed", `Failed to render ${subject}: ${error.message}`, { cause: error });
  }
}

/**
 * Returns the profile with the RHEL subscription in the modules of both phases, which replaces a subscription of the
 * profile; returns profiles of other systems unchanged. Empty fields are written too, as in Operating System Manager.
 */
function withRhelSubscription(profile: OsProfile, provider: ProviderConfig): OsProfile {
  if (provider.operatingSystem !== "rhel") return profile;
  const rh_subscription = subscriptionOf(osSettings(provider)["RhelConfig"] ?? {});
  const subscribed = (phase: ProfilePhase): ProfilePhase => ({
    ...phase,
    modules: { ...phase.modules, rh_subscription },
  });
  return {
    ...profile,
    bootstrapConfig: subscribed(profile.bootstrapConfig),
    provisioningConfig: subscribed(profile.provisioningConfig),
  };
}

function subscriptionOf(rhel: OsSettings): Record<string, string> {
  const text = (field: string): string => String(rhel[field] ?? "");
  if (rhel["RHELUseSatelliteServer"] !== true) {
    return {
      username: text("RHELSubscriptionManagerUser"),
      password: text("RHELSubscriptionManagerPassword"),
      "auto-attach": text("AttachSubscription"),
    };
  }
  return {
    org: text("RHELOrganizationName"),
    "activation-key": text("RHELActivationKey"),
    "server-hostname": text("RHELSatelliteServer"),
    "rhsm-baseurl": `https://${text("RHELSatelliteServer")}/pulp/repos`,
  };
}

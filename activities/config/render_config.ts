/** Renders the config of a MachineDeployment from its profile; the result contains no secrets. */
import { Buffer } from "node:buffer";
import type { PoolRef, Rendering } from "../../workflows/contracts/mod.ts";
import {
  bootstrapKubeconfig,
  checkFacts,
  checkProfileFits,
  configDigest,
  edgeScript,
  generateUserData,
  hideSecrets,
  machineCluster,
  namesOf,
  type OsConfig,
  type OsProfile,
  type Phase,
  ProfileRefused,
  renderConfig as render,
  type RenderFacts,
  userDataFacts,
} from "../../profiles/mod.ts";
import { moot, refused } from "../failures.ts";
import { type MachineDeployment, machineDeployments, readObject } from "../kube/resources.ts";
import { withTemplateInUse } from "../kube/machine_sets.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { settingsOf } from "./observed.ts";
import { type FactReader, readFacts } from "./read_facts.ts";
import { asRefusal, type Inputs, type ProfileReader, readInputs, type SeenInputs } from "./read_profile.ts";
import type { Credentials } from "./credentials.ts";

export interface Renderer extends FactReader, ProfileReader {}

/** A rendered config with its facts; never leaves the activity, because the facts include secrets. */
export interface RenderedPool extends Inputs {
  deployment: MachineDeployment;
  facts: RenderFacts;
  /** The config as published: placeholders replace secrets. */
  shown: OsConfig;
  digest: string;
}

/** Returns the facts about a config that activities may report: digest, version and sizes, but no content. */
export function renderingOf({ shown, digest, profile }: RenderedPool): Rendering {
  const files = shown.bootstrapConfig.files.length + shown.provisioningConfig.files.length;
  const bytes = Buffer.byteLength(JSON.stringify(shown));
  return { configDigest: digest, profileVersion: profile.version, files, bytes };
}

/**
 * Renders the config of the current MachineDeployment and profile. Writes nothing, except the Secret with the seed of
 * random template functions if it is missing.
 */
export function renderPool(renderer: Renderer, pool: PoolRef, seen?: SeenInputs): Promise<RenderedPool> {
  const attempt = `render the config of "${pool.namespace}/${pool.name}"`;
  return attempting(attempt, async () => {
    const found = renderer.source?.deployment ?? await ifFound(readObject(renderer.kube, machineDeployments, pool));
    if (!found) {
      throw moot("GenerationStale", `Failed to ${attempt}: the MachineDeployment was deleted`);
    }
    const deployment = await withTemplateInUse(renderer.kube, found);
    const inputs = await readInputs(renderer, deployment, seen);
    return await asRefusal(async () => {
      const facts = await readFacts(renderer, withSettings(deployment, inputs.settings));
      return { deployment, facts, ...inputs, ...await renderShown(inputs.profile, facts) };
    });
  });
}

function withSettings(deployment: MachineDeployment, settings: Record<string, string>): MachineDeployment {
  const { metadata } = deployment;
  const own = Object.keys(settingsOf(metadata.annotations));
  const others = Object.entries(metadata.annotations ?? {}).filter(([key]) => !own.includes(key));
  return { ...deployment, metadata: { ...metadata, annotations: { ...Object.fromEntries(others), ...settings } } };
}

async function renderShown(profile: OsProfile, facts: RenderFacts): Promise<{ shown: OsConfig; digest: string }> {
  const { operatingSystem, cloudProvider, operatingSystemSpec } = facts.provider;
  checkProfileFits(profile, { operatingSystem, provider: cloudProvider, operatingSystemSpec });
  // Names a setting with an unusable login before anything is published; the error of a later render would be hidden.
  checkFacts(profile, facts);
  const config = await render(profile, hideSecrets(facts));
  // A config that cannot become user-data is refused before anything is published, and without secrets in the message.
  for (const phase of phases) generateUserData(config, phase, userDataFacts(facts));
  const shown = { ...config, cloudProvider: { ...config.cloudProvider, spec: {} } };
  return { shown, digest: configDigest(shown, facts) };
}

const phases: Phase[] = ["bootstrap", "provisioning"];

// Renders with the real secret values; the result is stored in Secrets only.

/** The texts of a pool's secrets. */
interface SecretTexts {
  provisioning: string;
  kubeconfig: string;
  bootstrap: string;
  /** Script of provider edge; absent for other providers. */
  edgeScript?: string;
}

/** Returns whether the provider is edge, where a script is published too. */
export function isEdge({ facts }: RenderedPool): boolean {
  return facts.provider.cloudProvider === "edge";
}

/** Renders with real credentials; a failure reveals nothing of them. */
export async function renderSecrets(
  rendered: RenderedPool,
  { fetchToken, joinToken }: Credentials,
): Promise<SecretTexts> {
  const { facts, profile } = rendered;
  const cluster = machineCluster(facts);
  const kubeconfig = bootstrapKubeconfig(cluster, joinToken);
  const secrets = { ...facts.secrets, token: fetchToken, bootstrapKubeconfig: kubeconfig };
  try {
    const full = await render(profile, { ...facts, secrets });
    const userData = (phase: Phase): string => generateUserData(full, phase, userDataFacts(facts));
    const fetch = { ...cluster, token: fetchToken, secret: namesOf(facts.deployment).bootstrap };
    return {
      ...{ provisioning: userData("provisioning"), kubeconfig, bootstrap: userData("bootstrap") },
      ...(isEdge(rendered) ? { edgeScript: edgeScript(fetch) } : {}),
    };
  } catch (error) {
    // The new error has no `cause`: rendering with placeholders succeeded, so the caught error depends on secrets, and
    // its message may quote them.
    throw whatHides(error);
  }
}

function whatHides(error: unknown): Error {
  if (!(error instanceof ProfileRefused)) {
    return new Error("Failed to render the user-data: the template engine failed");
  }
  const state = "the template renders with placeholders, but fails with the real secret values; " +
    "the error is not shown, as it may quote them";
  return refused("RenderFailed", `Failed to render the user-data: ${state}`);
}

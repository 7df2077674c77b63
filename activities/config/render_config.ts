/** Renders the config of a MachineDeployment from its profile; nothing of what comes out is a secret. */
import { Buffer } from "node:buffer";
import type { PoolRef, Rendering } from "../../workflows/contracts/mod.ts";
import {
  checkProfileFits,
  configDigest,
  generateUserData,
  hideSecrets,
  type OsConfig,
  type OsProfile,
  type Phase,
  renderConfig as render,
  type RenderFacts,
  userDataFacts,
} from "../../profiles/mod.ts";
import { moot } from "../failures.ts";
import { machineDeployments, readObject } from "../kube/resources.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { settingsOf } from "./observed.ts";
import { type FactReader, readFacts } from "./read_facts.ts";
import { asRefusal, type Inputs, type ProfileReader, readInputs, type SeenInputs } from "./read_profile.ts";

export interface Renderer extends FactReader, ProfileReader {}

/** A rendered config with the facts around it; stays inside one activity. */
export interface RenderedPool extends Inputs {
  deployment: MachineDeployment;
  facts: RenderFacts;
  /** What people may see: placeholders stand for secrets. */
  shown: OsConfig;
  digest: string;
}

/** What may be told of it: names and sizes only. */
export function renderingOf({ shown, digest, profile }: RenderedPool): Rendering {
  const files = shown.bootstrapConfig.files.length + shown.provisioningConfig.files.length;
  const bytes = Buffer.byteLength(JSON.stringify(shown));
  return { configDigest: digest, profileVersion: profile.version, files, bytes };
}

/** Renders the config as it is desired now. */
export function renderPool(renderer: Renderer, pool: PoolRef, seen?: SeenInputs): Promise<RenderedPool> {
  return attempting(`render the config of "${pool.namespace}/${pool.name}"`, async () => {
    const deployment = renderer.desired?.deployment ??
      await ifFound(readObject(renderer.kube, machineDeployments, pool));
    if (!deployment) throw moot("GenerationStale", `Cannot render the config of "${pool.name}": it is gone`);
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
  const config = await render(profile, hideSecrets(facts));
  // What cannot become user-data is refused before anything is published, and with nothing secret in the words.
  for (const phase of phases) generateUserData(config, phase, userDataFacts(facts));
  const shown = { ...config, cloudProvider: { ...config.cloudProvider, spec: {} } };
  return { shown, digest: configDigest(shown, facts) };
}

const phases: Phase[] = ["bootstrap", "provisioning"];

/** What a MachineDeployment says about its machines, and all that is wrong with it. */
import { z } from "zod";
import { profileAnnotation } from "../../activities/config/pool_annotations.ts";
import {
  checkNetworkFits,
  normaliseKubeletVersion,
  parseKubeletAnnotations,
  parseProviderConfig,
  ProfileRefused,
} from "../../profiles/mod.ts";
import type { ProviderConfig } from "../../profiles/mod.ts";
import type { KubeObject } from "./admission_review.ts";

/** Read as far as it decides about the profile. */
export interface PoolTemplate {
  provider: ProviderConfig;
  /** Empty when the annotation is missing. */
  profile: string;
}

const Template = z.object({
  spec: z.object({
    versions: z.object({ kubelet: z.string().default("") }).loose().default({ kubelet: "" }),
    providerSpec: z.object({ value: z.unknown() }).loose().default({ value: undefined }),
  }).loose(),
}).loose();

/** Reads a MachineDeployment. The template counts when there are no faults; `subject` is its name for messages. */
export function readPoolTemplate(
  { metadata, spec }: KubeObject,
  subject: string,
): { template: PoolTemplate; faults: string[] } {
  const annotations = metadata.annotations ?? {};
  const { versions, providerSpec } = Template.catch({
    spec: { versions: { kubelet: "" }, providerSpec: { value: undefined } },
  }).parse(spec?.["template"]).spec;
  const nothing: ProviderConfig = { operatingSystem: "", cloudProvider: "" };
  let provider = nothing;
  const faults = [
    () => void (provider = parseProviderConfig(providerSpec.value, subject)),
    () => void checkNetworkFits(provider),
    () => void normaliseKubeletVersion(versions.kubelet),
    () => void parseKubeletAnnotations(annotations),
  ].flatMap(faultOf);
  return { template: { provider, profile: annotations[profileAnnotation] ?? "" }, faults };
}

function faultOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof ProfileRefused) return [error.message];
    throw error;
  }
}

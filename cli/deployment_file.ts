import { z } from "zod";
import {
  inWords,
  parseProviderConfig,
  ProfileRefused,
  type ProviderConfig,
  type RenderFacts,
  withoutEffect,
} from "../profiles/mod.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { type FieldPath, type Place, placeText, readObjects, type YamlObject } from "./yaml_file.ts";

/** The facts about machines that a MachineDeployment in a file states. */
export interface DeploymentFile {
  deployment: RenderFacts["deployment"];
  provider: ProviderConfig;
  /** The name in annotation `k8c.io/operating-system-profile` of the MachineDeployment. */
  profile: string | undefined;
  /** Warnings about fields without effect. */
  warnings: string[];
  /** Returns the line of a field, or of its nearest parent that exists. */
  placeOf: (path: FieldPath) => Place;
}

const MachineDeployment = z.object({
  metadata: z.object({
    name: z.string().min(1),
    namespace: z.string().default("default"),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.object({
    template: z.object({
      metadata: z.object({ annotations: z.record(z.string(), z.string()).default({}) }).default({ annotations: {} }),
      spec: z.object({
        taints: z.array(z.object({ key: z.string(), value: z.string().optional(), effect: z.string() })).default([]),
        versions: z.object({ kubelet: z.string() }),
        providerSpec: z.object({ value: z.unknown() }),
      }),
    }),
  }),
});

/**
 * Reads the only MachineDeployment of a file; throws UsageError with the invalid field, and ProfileRefused for an
 * invalid provider config.
 */
export async function readDeployment(terminal: Terminal, file: string): Promise<DeploymentFile> {
  const found = (await readObjects(terminal, file)).filter(({ kind }) => kind === "MachineDeployment");
  const [object, ...others] = found;
  if (object === undefined) {
    throw new UsageError(`Failed to use "${file}": it has no MachineDeployment; exactly 1 is required`);
  }
  if (others.length > 0) {
    throw new UsageError(`Failed to use "${file}": it has ${found.length} MachineDeployments; exactly 1 is required`);
  }
  const { metadata, spec } = parse(object);
  const { namespace, name, annotations } = metadata;
  const { metadata: { annotations: templateAnnotations }, spec: { versions, providerSpec, taints } } = spec.template;
  const provider = providerOf(object, providerSpec.value, `${namespace}/${name}`);
  return {
    deployment: { namespace, name, annotations, kubelet: versions.kubelet, ...(taints.length > 0 ? { taints } : {}) },
    provider,
    profile: annotations["k8c.io/operating-system-profile"],
    warnings: withoutEffect({ templateAnnotations, provider }),
    placeOf: (path) => object.placeOf(path),
  };
}

function providerOf(object: YamlObject, value: unknown, subject: string): ProviderConfig {
  try {
    return parseProviderConfig(value, subject);
  } catch (error) {
    if (!(error instanceof ProfileRefused)) throw error;
    const path = ["spec", "template", "spec", "providerSpec", "value", ...error.at ?? []] as FieldPath;
    throw new ProfileRefused(error.reason, `${placeText(object.placeOf(path))}: ${error.message}`);
  }
}

function parse(object: YamlObject): z.infer<typeof MachineDeployment> {
  const parsed = MachineDeployment.safeParse(object.value, { error: inWords });
  if (parsed.success) return parsed.data;
  const [fault] = parsed.error.issues;
  const path = (fault?.path ?? []) as string[];
  const field = path.length > 0 ? `${path.join(".")}: ` : "";
  throw new UsageError(
    `${placeText(object.placeOf(path))}: Failed to read the MachineDeployment: ${field}${fault?.message}`,
  );
}

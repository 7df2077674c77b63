import { z } from "zod";
import { parseProviderConfig, type ProviderConfig, type RenderFacts, withoutEffect } from "../profiles/mod.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { placeText, readObjects, type YamlObject } from "./yaml_file.ts";

/** What a MachineDeployment says about its machines. */
export interface DeploymentFile {
  deployment: RenderFacts["deployment"];
  provider: ProviderConfig;
  /** The profile its annotation names. */
  profile: string | undefined;
  /** What it says and no machine gets. */
  warnings: string[];
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

/** Reads the one MachineDeployment of a file; throws UsageError naming the field, ProfileRefused for a provider config. */
export async function readDeployment(terminal: Terminal, file: string): Promise<DeploymentFile> {
  const found = (await readObjects(terminal, file)).filter(({ kind }) => kind === "MachineDeployment");
  const [object, ...others] = found;
  if (object === undefined) throw new UsageError(`Cannot use "${file}": it holds no MachineDeployment`);
  if (others.length > 0) {
    throw new UsageError(`Cannot use "${file}": it holds ${found.length} MachineDeployments, one is wanted`);
  }
  const { metadata, spec } = parse(object);
  const { namespace, name, annotations } = metadata;
  const { metadata: { annotations: templateAnnotations }, spec: { versions, providerSpec, taints } } = spec.template;
  const provider = parseProviderConfig(providerSpec.value, `${namespace}/${name}`);
  return {
    deployment: { namespace, name, annotations, kubelet: versions.kubelet, ...(taints.length > 0 ? { taints } : {}) },
    provider,
    profile: annotations["k8c.io/operating-system-profile"],
    warnings: withoutEffect({ templateAnnotations, provider }),
  };
}

function parse(object: YamlObject): z.infer<typeof MachineDeployment> {
  const parsed = MachineDeployment.safeParse(object.value);
  if (parsed.success) return parsed.data;
  const [fault] = parsed.error.issues;
  const path = (fault?.path ?? []) as string[];
  throw new UsageError(
    `${placeText(object.placeOf(path))}: Cannot read the MachineDeployment: ${path.join(".")}: ${fault?.message}`,
  );
}

/**
 * Reads the command line and the environment of the process that renders configs, because they decide what is rendered.
 */
import { z } from "zod";
import { readSecretTexts } from "../config/read_facts.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { listDeployments, whoseIs } from "./presence.ts";

/** The process as its Deployment starts it; the environment can contain secrets. */
export interface RendererProcess {
  /** The Deployment, as "namespace/name". */
  deployment: string;
  argv: string[];
  env: Record<string, string>;
}

const Ref = z.object({ name: z.string(), key: z.string().optional() });
const Container = z.object({
  command: z.array(z.string()).nullish(),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({
    name: z.string(),
    value: z.string().optional(),
    valueFrom: z.object({ secretKeyRef: Ref.optional(), configMapKeyRef: Ref.optional() }).nullish(),
  })).nullish(),
  envFrom: z.array(z.object({
    prefix: z.string().default(""),
    secretRef: Ref.optional(),
    configMapRef: Ref.optional(),
  })).nullish(),
});
type Container = z.infer<typeof Container>;

const Process = z.object({
  spec: z.object({ template: z.object({ spec: z.object({ containers: z.array(Container).min(1) }) }) }),
});

interface Found {
  kube: Kube;
  namespace: string;
  name: string;
  isOurs: boolean;
  container: Container;
}

/**
 * Returns the process of Ostler's worker; if Ostler is not installed, that of Operating System Manager; undefined if
 * neither is installed.
 */
export async function readRendererProcess(kube: Kube, systemNamespace: string): Promise<RendererProcess | undefined> {
  const all = await listDeployments(kube, systemNamespace, (object, home): Found[] => {
    const { metadata: { namespace, name, labels } } = object;
    const whose = whoseIs(object.metadata);
    const isRenderer = whose === "osm" ||
      (whose === "ours" && namespace === systemNamespace && labels?.["app.kubernetes.io/component"] === "worker");
    const container = isRenderer ? Process.safeParse(object).data?.spec.template.spec.containers[0] : undefined;
    return container ? [{ kube: home, namespace, name, isOurs: whose === "ours", container }] : [];
  });
  const [found] = all.flat().sort((one, other) => Number(other.isOurs) - Number(one.isOurs));
  if (found === undefined) return undefined;
  const { container: { command, args } } = found;
  return {
    deployment: `${found.namespace}/${found.name}`,
    argv: [...command?.slice(1) ?? [], ...args ?? []],
    env: await environmentOf(found),
  };
}

async function environmentOf({ kube, namespace, container }: Found): Promise<Record<string, string>> {
  const secret = async ({ name }: { name: string }): Promise<Record<string, string>> =>
    (await readSecretTexts(kube, { namespace, name }))?.texts ?? {};
  const map = async ({ name }: { name: string }): Promise<Record<string, string>> =>
    (await ifFound(kube.core.readNamespacedConfigMap({ namespace, name })))?.data ?? {};
  const env: Record<string, string> = {};
  for (const { prefix, secretRef, configMapRef } of container.envFrom ?? []) {
    const texts = secretRef ? await secret(secretRef) : configMapRef ? await map(configMapRef) : {};
    for (const [key, text] of Object.entries(texts)) env[`${prefix}${key}`] = text;
  }
  for (const { name, value = "", valueFrom } of container.env ?? []) {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    const ref = secretKeyRef ?? configMapKeyRef;
    const texts = secretKeyRef ? await secret(secretKeyRef) : configMapKeyRef ? await map(configMapKeyRef) : {};
    env[name] = ref ? texts[ref.key ?? ""] ?? "" : value;
  }
  return env;
}

import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical_json.ts";
import { EtaEngine } from "./engines/eta.ts";
import { type TemplateEngine, TemplateFault } from "./engines/template_engine.ts";
import type { OsConfig, OsConfigPhase } from "./os_config.ts";
import { checkTemplating } from "./profile_fit.ts";
import { faultsOf, ProfileRefused } from "./refusal.ts";
import { registryHostFiles } from "./registry_hosts.ts";
import { RenderInput } from "./render_input.ts";
import type { OsFile, OsProfile, ProfilePhase } from "./schema.ts";

interface Sources {
  phase: ProfilePhase;
  /** Templates of one scope may influence each other, those of two never. */
  scope: string;
  data: { sshKeys: string[]; containerRuntime: string };
}

let shared: TemplateEngine | undefined;

/** Ends the processes that `renderConfig` keeps alive between calls; a later call starts new ones. */
export async function closeTemplateEngines(): Promise<void> {
  const engine = shared;
  shared = undefined;
  await engine?.close();
}

/** Renders a profile; throws ProfileRefused when it can never render, any other error when a new try may help. */
export async function renderConfig(
  profile: OsProfile,
  input: RenderInput,
  engine: TemplateEngine = shared ??= new EtaEngine(),
): Promise<OsConfig> {
  checkTemplating(profile);
  const data = readInput(input);
  const scope = createHash("sha256").update(canonicalJson(profile)).digest("hex");
  const bootstrapConfig = await renderPhase({ phase: profile.bootstrapConfig, scope, data }, engine);
  const provisioningConfig = await renderPhase({ phase: profile.provisioningConfig, scope, data }, engine);
  return {
    osName: profile.osName,
    osVersion: profile.osVersion,
    cloudProvider: { name: data.provider.name, spec: {} },
    bootstrapConfig,
    provisioningConfig: { ...provisioningConfig, files: [...provisioningConfig.files, ...registryHostFiles()] },
    provisioningUtility: profile.provisioningUtility,
  };
}

function readInput(input: RenderInput): ReturnType<typeof RenderInput.parse> {
  const parsed = RenderInput.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new ProfileRefused("RenderFailed", `Cannot render the profile: input ${faultsOf(parsed.error, "as a whole")}`);
}

async function renderPhase({ phase, scope, data }: Sources, engine: TemplateEngine): Promise<OsConfigPhase> {
  const runtime = phase.supportedContainerRuntimes?.find(({ name }) => name === data.containerRuntime);
  const snippets = { ...runtime?.templates, ...phase.templates };
  const files: OsFile[] = [];
  for (const file of [...phase.files ?? [], ...runtime?.files ?? []]) {
    const { encoding, data: template } = file.content.inline;
    const text = await asRefusal(file.path, engine.render({ scope, name: file.path, template, snippets, data }));
    const inline = encoding === undefined ? { data: text } : { encoding, data: text };
    files.push({ path: file.path, permissions: file.permissions, content: { inline } });
  }
  return {
    files,
    ...(phase.units ? { units: phase.units } : {}),
    userSSHKeys: data.sshKeys,
    ...(phase.modules ? { modules: phase.modules } : {}),
  };
}

async function asRefusal(path: string, rendering: Promise<string>): Promise<string> {
  try {
    return await rendering;
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
    throw new ProfileRefused("RenderFailed", `Cannot render file "${path}": ${error.message}`);
  }
}

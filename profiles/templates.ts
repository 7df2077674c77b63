import type { RenderFacts } from "./facts.ts";
import { etaData } from "./eta_input.ts";
import { EtaEngine } from "./engines/eta.ts";
import { GoEngine } from "./engines/go.ts";
import type { TemplateEngine } from "./engines/template_engine.ts";
import { goData } from "./go_data.ts";
import { parameterValues } from "./parameter_values.ts";
import type { OsProfile, Templating } from "./schema.ts";

/** Template engines by the language a profile is written in. */
export type TemplateEngines = Record<Templating, TemplateEngine>;

let shared: TemplateEngines | undefined;

/** The engines that calls share; their processes are kept alive between calls. */
export function sharedEngines(): TemplateEngines {
  return shared ??= { eta: new EtaEngine(), go: new GoEngine() };
}

/** Engines whose renders reject with the signal's reason as soon as it aborts. */
export function enginesUntil(signal: AbortSignal, { eta, go }: TemplateEngines = sharedEngines()): TemplateEngines {
  const bound = (engine: TemplateEngine): TemplateEngine => ({
    render: (request) => engine.render(request, signal),
    close: () => engine.close(),
  });
  return { eta: bound(eta), go: bound(go) };
}

/** Ends the processes that are kept alive between calls; a later call starts new ones. */
export async function closeTemplateEngines(): Promise<void> {
  const engines = shared;
  shared = undefined;
  await Promise.all(Object.values(engines ?? {}).map((engine) => engine.close()));
}

/**
 * What the templates of a profile may know, in the shape of its language; throws ProfileRefused for facts and parameters
 * that cannot be used.
 */
export function templateData(profile: OsProfile, facts: RenderFacts): object {
  const parameters = parameterValues(profile, facts.deployment.annotations);
  if (profile.templating !== "eta") {
    return { ...goData(facts), Parameters: parameters, Seed: facts.secrets.seed };
  }
  return { ...etaData(facts), packages: packagesOf(profile), parameters };
}

/** What both phases of a profile ask for. */
export function packagesOf({ bootstrapConfig, provisioningConfig }: OsProfile): string[] {
  return [...new Set([bootstrapConfig, provisioningConfig].flatMap(({ packages = [] }) => packages))];
}

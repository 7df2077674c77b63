import type { RenderFacts } from "./facts.ts";
import { etaData } from "./eta_input.ts";
import { EtaEngine } from "./engines/eta.ts";
import { GoEngine } from "./engines/go.ts";
import { keptEngines, type TemplateEngines } from "./engines/kept_engines.ts";
import type { TemplateEngine } from "./engines/template_engine.ts";
import { goData } from "./go_data.ts";
import { parameterValues } from "./parameter_values.ts";
import type { OsProfile } from "./schema.ts";

/** Returns the engines that all calls share; their processes stay alive between calls. */
export function sharedEngines(): TemplateEngines {
  return keptEngines(() => ({ eta: new EtaEngine(), go: new GoEngine() }));
}

/** Returns engines whose renders reject with the reason of the signal as soon as it aborts. */
export function enginesUntil(signal: AbortSignal, { eta, go }: TemplateEngines = sharedEngines()): TemplateEngines {
  const bound = (engine: TemplateEngine): TemplateEngine => ({
    render: (request) => engine.render(request, signal),
    close: () => engine.close(),
  });
  return { eta: bound(eta), go: bound(go) };
}

/**
 * Returns the data of the templates of a profile, in the shape of its language; throws ProfileRefused for invalid facts
 * and parameters.
 */
export function templateData(profile: OsProfile, facts: RenderFacts): object {
  const parameters = parameterValues(profile, facts.deployment.annotations);
  if (profile.templating !== "eta") {
    return { ...goData(facts), Parameters: parameters, Seed: facts.secrets.seed };
  }
  return { ...etaData(facts), packages: packagesOf(profile), parameters };
}

/**
 * Throws the errors of `templateData`, which name invalid fields without their values. A check of the facts with their
 * secrets finds what the placeholders of `hideSecrets` hide, such as a login with a character that no template can use.
 */
export function checkFacts(profile: OsProfile, facts: RenderFacts): void {
  templateData(profile, facts);
}

/** Returns the packages of both phases of a profile, each once. */
export function packagesOf({ bootstrapConfig, provisioningConfig }: OsProfile): string[] {
  return [...new Set([bootstrapConfig, provisioningConfig].flatMap(({ packages = [] }) => packages))];
}

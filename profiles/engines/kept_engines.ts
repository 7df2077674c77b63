import type { Templating } from "../schema.ts";
import type { TemplateEngine } from "./template_engine.ts";

/** Template engines by the template language of a profile. */
export type TemplateEngines = Record<Templating, TemplateEngine>;

let kept: TemplateEngines | undefined;

/**
 * Returns the engines that all calls share; the first call creates them, and their processes stay alive between calls.
 */
export function keptEngines(make: () => TemplateEngines): TemplateEngines {
  return kept ??= make();
}

/** Ends the processes of the shared engines; a later call starts new ones. */
export async function closeTemplateEngines(): Promise<void> {
  const engines = kept;
  kept = undefined;
  await Promise.all(Object.values(engines ?? {}).map((engine) => engine.close()));
}

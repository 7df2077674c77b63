import type { Templating } from "../schema.ts";
import type { TemplateEngine } from "./template_engine.ts";

/** Template engines by the language a profile is written in. */
export type TemplateEngines = Record<Templating, TemplateEngine>;

let kept: TemplateEngines | undefined;

/** The engines that calls share, made by the first; their processes are kept alive between calls. */
export function keptEngines(make: () => TemplateEngines): TemplateEngines {
  return kept ??= make();
}

/** Ends the processes that are kept alive between calls; a later call starts new ones. */
export async function closeTemplateEngines(): Promise<void> {
  const engines = kept;
  kept = undefined;
  await Promise.all(Object.values(engines ?? {}).map((engine) => engine.close()));
}

/** Reads names and sizes of a config without publishing it. */
import { type Renderer, renderingOf, renderPool } from "../../activities/config/render_config.ts";
import type { PoolRef, Rendering } from "../../workflows/contracts/mod.ts";

/** Renders the desired config, and returns only names and sizes. */
export async function renderConfig(renderer: Renderer, pool: PoolRef): Promise<Rendering> {
  return renderingOf(await renderPool(renderer, pool));
}

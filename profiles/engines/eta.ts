import { type PoolLimits, ProcessPool } from "./process_pool.ts";

/**
 * Renders Eta, which can contain arbitrary JavaScript. Each scope (see `TemplateRequest`) has its own process with a
 * frozen realm, so even a template that manages to change its process cannot affect another scope.
 */
export class EtaEngine extends ProcessPool {
  constructor(limits: Partial<PoolLimits> = {}) {
    super({ module: new URL("./eta_child.ts", import.meta.url), isShared: false }, limits);
  }
}

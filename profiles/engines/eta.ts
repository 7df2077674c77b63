import { type PoolLimits, ProcessPool } from "./process_pool.ts";

/**
 * Renders Eta, which is arbitrary JavaScript. Each scope has a process of its own, in which nothing can be changed; should
 * a template find a way, it harms no other scope.
 */
export class EtaEngine extends ProcessPool {
  constructor(limits: Partial<PoolLimits> = {}) {
    super({ module: new URL("./eta_child.ts", import.meta.url), isShared: false }, limits);
  }
}

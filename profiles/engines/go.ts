import { readFileSync } from "node:fs";
import { type PoolLimits, ProcessPool } from "./process_pool.ts";

const program = new URL("./go/engine.wasm.zst", import.meta.url);

/** Renders Go's text/template with sprig, using the program built from go/. */
export class GoEngine extends ProcessPool {
  constructor(limits: Partial<PoolLimits> = {}) {
    super({
      module: new URL("./go_child.ts", import.meta.url),
      opening: () => ({ program: readFileSync(program).toString("base64") }),
      isShared: true,
    }, { processes: 2, ...limits });
  }
}

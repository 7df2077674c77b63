/**
 * How long the API server takes to create a MachineDeployment while many are applied at once, without and with Ostler's
 * webhook. With the webhook the API server calls it twice for each object: as a mutating webhook, which adds defaults,
 * and as a validating one. Run directly, it prints its rows:
 *
 *     deno run -A test/bench/admission.ts 1000
 */
import { abreast } from "../../activities/kube/status.ts";
import type { SupervisedProcess } from "../../deploy/local/process/supervised_process.ts";
import { machineDeployment, poolsPath } from "../integration/pool_objects.ts";
import { startWebhook } from "../integration/start_webhook.ts";
import { type Figure, figuresOf, quantile } from "./figure.ts";
import { type Ground, onGround } from "./ground.ts";
import { countCosts } from "./process_costs.ts";
import { printAlone } from "./table.ts";

/** Concurrent requests, as by a tool that applies a folder. */
const width = 50;

/** Applies `count` MachineDeployments without the webhook, and as many with it. */
export function measureAdmission(count: number): Promise<Figure[]> {
  return onGround({}, async (ground) => {
    // The first requests open connections and fill caches, so they are not measured.
    await apply(ground, { count: width, prefix: "warm-up" });
    const without = await apply(ground, { count, prefix: "unjudged" });
    const webhook = await startWebhook(ground.stack);
    const costs = await countCosts({ webhook });
    const judged = await apply(ground, { count, prefix: "judged" });
    const { webhook: cost } = await costs({ webhook } satisfies Record<string, SupervisedProcess>);
    return figuresOf({ part: "admission", column: "Ostler", size: count }, [
      ["create, p50", "ms", quantile(judged, 0.5)],
      ["create, p99", "ms", quantile(judged, 0.99)],
      ["create without the webhook, p50", "ms", quantile(without, 0.5)],
      ["create without the webhook, p99", "ms", quantile(without, 0.99)],
      ["CPU a MachineDeployment, webhook", "ms", (cost?.cpuSeconds ?? NaN) * 1000 / count],
      ["peak memory, webhook", "MiB", cost?.peakMib ?? NaN],
    ]);
  });
}

/** Returns how long each creation took, in milliseconds. */
function apply({ api }: Ground, { count, prefix }: { count: number; prefix: string }): Promise<number[]> {
  const names = Array.from({ length: count }, (_, nth) => `${prefix}-${nth}`);
  return abreast(width, names, async (name) => {
    const body = machineDeployment({ name, replicas: 0 });
    const begun = performance.now();
    await api.call({ method: "POST", path: poolsPath(), body });
    return performance.now() - begun;
  });
}

if (import.meta.main) {
  const [count = 1_000] = Deno.args.map(Number);
  await printAlone([count], measureAdmission);
}

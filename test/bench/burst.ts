/**
 * Creates many MachineDeployments at the same time; machine-controller gives them revision numbers at its own pace.
 * Measures the time until the last of them is published, how much of that time passes after the last of them got its
 * number, and the CPU time of the publisher and of Temporal meanwhile. Run directly, it prints its rows:
 *
 *     deno run -A test/bench/burst.ts 200
 */
import { abreast } from "../../activities/kube/status.ts";
import { startMachineController } from "../../deploy/local/stack/machine_controller.ts";
import { machineDeployment, poolsPath } from "../integration/pool_objects.ts";
import { type Figure, figuresOf, type Row } from "./figure.ts";
import { onGround } from "./ground.ts";
import { MomentWatch } from "./moment_watch.ts";
import { countCosts } from "./process_costs.ts";
import { numberedPools, publishedMoments, publishedSecrets, secretsOf } from "./published_pools.ts";
import { printAlone } from "./table.ts";
import { type Writer, writers } from "./writer.ts";

const longestSeconds = 600;
/** Concurrent requests. */
const width = 50;

/** Creates `pools` concurrently while all processes run. */
export function measureBurst(writer: Writer, pools: number): Promise<Figure[]> {
  return onGround({}, async (ground) => {
    const { stack, api, kubeconfigs } = ground;
    const start = await writer.prepare(ground);
    await startMachineController(stack, kubeconfigs.machineController);
    const processes = await start();
    using published = await MomentWatch.open(stack.adminKubeconfig, publishedSecrets);
    using numbered = await MomentWatch.open(stack.adminKubeconfig, numberedPools);
    const first = machineDeployment({ name: "warm-up", replicas: 0 });
    await api.call({ method: "POST", path: poolsPath(), body: first });
    await published.all(secretsOf(["warm-up"]), longestSeconds);
    const names = Array.from({ length: pools }, (_, nth) => `burst-${nth}`);
    const running = { ...processes, temporal: stack.processes.get("temporal") };
    const [costs, begun] = [await countCosts(running), performance.now()];
    await abreast(width, names, async (name) => {
      await api.call({ method: "POST", path: poolsPath(), body: machineDeployment({ name, replicas: 0 }) });
    });
    await published.all(secretsOf(names), longestSeconds);
    // The publisher may be done before machine-controller has written the status.
    await numbered.all(names, longestSeconds);
    const counted = Object.entries(await costs(running));
    const moments = publishedMoments(published, names);
    const lastNumbered = Math.max(...names.map((name) => numbered.moments.get(name) ?? Infinity));
    return figuresOf({ part: "burst", column: writer.name, size: pools }, [
      ...(moments.length === pools ? [] : [["never published", "pools", pools - moments.length] as Row]),
      ["all published", "s", (Math.max(...moments) - begun) / 1000],
      ["published after the last was numbered", "s", (Math.max(...moments) - lastNumbered) / 1000],
      ...counted.map(([name, { cpuSeconds }]): Row => [`CPU, ${name === "osm" ? "worker" : name}`, "s", cpuSeconds]),
    ]);
  });
}

if (import.meta.main) {
  const [pools = 200] = Deno.args.map(Number);
  await printAlone(writers(), (writer) => measureBurst(writer, pools));
}

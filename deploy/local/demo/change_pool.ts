import { poolPath, type Release, releasePatch } from "./pool_objects.ts";
import { killWorker } from "./kill_worker.ts";
import { shortImage } from "./machine_board.ts";
import { runPage } from "./runs.ts";
import type { Scene } from "./scene.ts";

/** Changes image and kubelet in one patch and sees all machines replaced, though the worker dies in between. */
export async function changePool(
  scene: Scene,
  { replicas, releases: [before, after] }: { replicas: number; releases: readonly [Release, Release] },
): Promise<void> {
  const { stage, narrator, runs, api, site } = scene;
  narrator.say(
    `  image ${shortImage(before.image)} → ${shortImage(after.image)}, kubelet ${before.kubelet} → ${after.kubelet}`,
  );
  const patch = { path: poolPath, body: releasePatch(after), contentType: "application/merge-patch+json" };
  await stage.until("the pool to be changed", api.call({ method: "PATCH", ...patch }));
  const runId = await stage.until("the rollout to start", runs.next());
  narrator.say(`  web UI of this run: ${runPage(site.stack.temporal, runId)}`);
  const converged = stage.until("all machines to be replaced", runs.converged(after));
  await Promise.all([converged, killWorker(scene, { replicas, converged })]);
}

import { startObserver } from "../../../observer/observer.ts";
import { pathOfPool, pool, releasePatch } from "../../pool_objects.ts";
import { observerChecks } from "../story_report.ts";
import type { StoryScene } from "../story.ts";
import { home, homeConverged, installationOf } from "./home.ts";

/** Rolls out the pool that runs Ostler's own pods, like any other pool. */
export async function rollHome(scene: StoryScene): Promise<void> {
  const { cluster, narrator, site, waits, ground, checks } = scene;
  const { pods } = installationOf(scene);
  const [, next] = ground.releases;
  const before = await pods.homes();
  const watched = { kubeconfig: site.stack.adminKubeconfig, namespace: pool.namespace, pool: home, replicas: 2 };
  const observer = await waits.until("the observer to start", startObserver(watched));
  observer.arm();
  narrator.say(`  pool "${home}", which runs Ostler, changes to the same release as pool "${pool.name}"`);
  await cluster.patch(pathOfPool(home), releasePatch(next)).then(() => homeConverged(scene, next.image))
    .finally(() => observer.stop());
  const report = await observer.stop();
  for (const check of observerChecks(report)) checks.add({ ...check, name: `"${home}": ${check.name}` });
  await cluster.until("Ready pods on new machines", async () => {
    const now = await pods.homes();
    return await pods.isWhole() && now.every((node) => !before.includes(node));
  }, 180);
  checks.add({ name: "all pods run on new machines", ok: true, detail: (await pods.homes()).join(", ") });
}

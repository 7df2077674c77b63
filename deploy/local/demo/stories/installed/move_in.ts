import { homeLabels } from "../../../installation/values.ts";
import { applyObjects } from "../../../stack/manifests.ts";
import { machineDeployment } from "../../pool_objects.ts";
import type { Play } from "../story.ts";
import { home, homeConverged, installationOf, untilWhole } from "./home.ts";
import { policiesHold } from "./policies_hold.ts";

/** Two machines are made by processes beside the control plane; then Ostler moves into pods on them. */
export async function moveIn(play: Play): Promise<void> {
  const { narrator, site, stage, ground, fleet } = play;
  const installation = installationOf(play);
  const [release] = ground.releases;
  narrator.say(`  two machines are made that Ostler is to live on, pool "${home}"`);
  const pool = machineDeployment({ ...ground.shape, name: home, replicas: 2, release, nodeLabels: homeLabels });
  fleet.start();
  await stage.until("the pool to be created", applyObjects(site.stack.adminKubeconfig, [pool]));
  await homeConverged(play, release.image);
  for (const part of [site.ostler.controller, site.ostler.worker]) await stage.until("its end", part.stop());
  narrator.say(
    "  the processes beside the control plane are stopped; Ostler is installed by the commands of docs/how-to/install.md:",
  );
  const table = await stage.until("Ostler to be installed", installation.install());
  narrator.say(table.trimEnd().replace(/^/gm, "  | "));
  await untilWhole(play);
  await checkPods(play, table);
  await policiesHold(play);
}

async function checkPods(play: Play, table: string): Promise<void> {
  const { checks } = play;
  const { pods } = installationOf(play);
  const all = await pods.all();
  const nodesOf = (process: string): string[] => all.filter((pod) => pod.process === process).map(({ node }) => node);
  const spread = ["controller", "worker"].map((process) => `${new Set(nodesOf(process)).size} ${process}s apart`);
  checks.equal("the three commands of docs/how-to/install.md install it", { seen: table.includes(home), wanted: true });
  checks.equal("pods of one kind are on different machines", {
    seen: spread.join(", "),
    wanted: "2 controllers apart, 2 workers apart",
  });
}

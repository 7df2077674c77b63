import { homeLabels, metricsPort } from "../../../installation/values.ts";
import { applyObjects } from "../../../stack/manifests.ts";
import { machineDeployment } from "../../pool_objects.ts";
import type { StoryScene } from "../story.ts";
import { home, homeConverged, installationOf, untilWhole } from "./home.ts";
import { type Placed, placeOf } from "../../../installation/pod_reach.ts";

/**
 * Lets the controller and the worker, which the demo runs as processes of this host, create two machines; then stops
 * these processes, and installs Ostler as pods on the machines.
 */
export async function moveIn(scene: StoryScene): Promise<void> {
  const { narrator, site, waits, ground, fleet } = scene;
  const installation = installationOf(scene);
  const [release] = ground.releases;
  narrator.say(`  two machines are created for Ostler, pool "${home}"`);
  const pool = machineDeployment({ ...ground.shape, name: home, replicas: 2, release, nodeLabels: homeLabels });
  fleet.start();
  await waits.until("the pool to be created", applyObjects(site.stack.adminKubeconfig, [pool]));
  await homeConverged(scene, release.image);
  for (const part of [site.ostler.controller, site.ostler.worker]) {
    await waits.until(`process "${part.name}" to end`, part.stop());
  }
  narrator.say(
    "  controller and worker on this host are stopped; the commands of docs/how-to/install.md install Ostler as pods:",
  );
  const table = await waits.until("Ostler to be installed", installation.install());
  narrator.say(table.trimEnd().replace(/^/gm, "  | "));
  await untilWhole(scene);
  await checkPods(scene, table);
  await policiesHold(scene);
}

async function checkPods(scene: StoryScene, table: string): Promise<void> {
  const { checks } = scene;
  const { pods } = installationOf(scene);
  const all = await pods.all();
  const nodesOf = (process: string): string[] => all.filter((pod) => pod.process === process).map(({ node }) => node);
  const spread = ["controller", "worker"].map((process) => `${new Set(nodesOf(process)).size} ${process}s apart`);
  checks.equal("the three commands of docs/how-to/install.md work", { seen: table.includes(home), wanted: true });
  checks.equal("pods of the same kind run on different machines", {
    seen: spread.join(", "),
    wanted: "2 controllers apart, 2 workers apart",
  });
}

/** The port of the pods' health probes. */
const healthPort = 8081;

const strangerPath = "/api/v1/namespaces/default/pods/stranger";

/**
 * Checks the NetworkPolicies: Ostler's pods reach Temporal but not the mirror from which machines download, and another
 * pod reaches the mirror but no port of Ostler's pods.
 */
async function policiesHold(scene: StoryScene): Promise<void> {
  const { checks, waits } = scene;
  const installation = installationOf(scene);
  const pods = await installation.pods.all();
  const [mirror, temporal] = [placeOf(installation.registry), placeOf(installation.temporal.address)];
  const ours = await waits.until(
    "the connection tests of Ostler's pods",
    Promise.all(pods.map((pod) => installation.reach(pod, [temporal, mirror]))),
  );
  const seen = [...new Set(ours.map((reaches) => reaches.join(", ")))];
  checks.equal("Ostler's pods reach Temporal, but not the mirror, to which no NetworkPolicy allows traffic", {
    seen,
    wanted: ["open, forbidden"],
  });
  const stranger = await startStranger(scene, pods[0]?.node ?? "");
  const beside = pods.filter(({ node }) => node === stranger.node).map(({ address = "" }) => address);
  const doors = beside.flatMap((host) => [healthPort, metricsPort].map((port) => ({ host, port })));
  const theirs = await waits.until(
    "the connection tests of another pod",
    installation.reach(stranger, [mirror, ...doors]),
  );
  checks.equal("another pod reaches the mirror, and no port of Ostler's pods", {
    seen: theirs,
    wanted: ["open", ...doors.map(() => "forbidden")],
  });
  await installation.run("kubectl -n default delete pod stranger --now");
}

/** Starts a pod that no NetworkPolicy selects; returns its node and address when it runs. */
async function startStranger({ site, waits, cluster, ground }: StoryScene, node: string): Promise<Placed> {
  const metadata = { name: "stranger", namespace: "default" };
  const spec = { nodeName: node, containers: [{ name: "server", image: ground.guestImage }] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata, spec };
  await waits.until('pod "stranger"', applyObjects(site.stack.adminKubeconfig, [pod]));
  const address = await cluster.until('the start of pod "stranger"', async () => {
    const { phase, podIP } = (await cluster.get<{ status: { phase: string; podIP?: string } }>(strangerPath))?.status ??
      {};
    return phase === "Running" && podIP;
  });
  return { node, address };
}

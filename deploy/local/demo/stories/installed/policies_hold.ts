import { type Placed, placeOf } from "../../../installation/pod_reach.ts";
import { metricsPort } from "../../../installation/values.ts";
import { applyObjects } from "../../../stack/manifests.ts";
import type { Play } from "../story.ts";
import { installationOf } from "./home.ts";

/** Where kubelets ask a pod how it is. */
const healthPort = 8081;

const strangerPath = "/api/v1/namespaces/default/pods/stranger";

/** Pods of Ostler reach what they need and not the mirror; a pod beside them reaches the mirror, and no port of theirs. */
export async function policiesHold(play: Play): Promise<void> {
  const { checks, stage } = play;
  const installation = installationOf(play);
  const pods = await installation.pods.all();
  const [mirror, temporal] = [placeOf(installation.registry), placeOf(installation.temporal.address)];
  const ours = await stage.until(
    "what pods reach",
    Promise.all(pods.map((pod) => installation.reach(pod, [temporal, mirror]))),
  );
  const seen = [...new Set(ours.map((reaches) => reaches.join(", ")))];
  checks.equal("pods reach Temporal, and not what no NetworkPolicy names", { seen, wanted: ["open, forbidden"] });
  const stranger = await startStranger(play, pods[0]?.node ?? "");
  const beside = pods.filter(({ node }) => node === stranger.node).map(({ address = "" }) => address);
  const doors = beside.flatMap((host) => [healthPort, metricsPort].map((port) => ({ host, port })));
  const theirs = await stage.until("what a stranger reaches", installation.reach(stranger, [mirror, ...doors]));
  checks.equal("a pod beside them reaches that, and none of their ports", {
    seen: theirs,
    wanted: ["open", ...doors.map(() => "forbidden")],
  });
  await installation.run("kubectl -n default delete pod stranger --now");
}

/** A pod that no policy knows. */
async function startStranger({ site, stage, cluster, ground }: Play, node: string): Promise<Placed> {
  const metadata = { name: "stranger", namespace: "default" };
  const spec = { nodeName: node, containers: [{ name: "server", image: ground.guestImage }] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata, spec };
  await stage.until("a stranger", applyObjects(site.stack.adminKubeconfig, [pod]));
  const address = await cluster.until("a stranger to run", async () => {
    const { phase, podIP } = (await cluster.get<{ status: { phase: string; podIP?: string } }>(strangerPath))?.status ??
      {};
    return phase === "Running" && podIP;
  });
  return { node, address };
}

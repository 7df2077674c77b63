import type { Story, StoryScene } from "../story.ts";
import { BootWatch } from "./boot_watch.ts";
import { abort, ask, cordoned, createEdge, killWorker, stands } from "./edge_pool.ts";
import { type Commits, commitsOn, nodesOf, systems, triedOn } from "./ostree_nodes.ts";

const replicas = 2;
/** The pool halts when this number of nodes has failed with the bad commit. */
const allowed = 1;
const budget = 1;
const labels = { "demo.example/system": "ostree" };

/** Updates the pool's machines, which boot ostree deployments, in place as nodes of a NodePool. */
export const inPlaceOnMachines: Story = {
  title:
    "Two machines are updated in place to a new ostree commit; the pool halts after one bad boot, and the rollback works",
  replicas,
  surge: 1,
  down: budget,
  policy: {},
  async tell(scene: StoryScene): Promise<void> {
    const before = await machinesOf(scene);
    const commits = await settle(scene);
    await rollOut(scene, commits);
    await stopAtBad(scene, commits);
    await goBack(scene, commits);
    scene.checks.equal("machines of the pool, none replaced", { seen: await machinesOf(scene), wanted: before });
  },
};

async function settle(scene: StoryScene): Promise<Commits> {
  const commits = await commitsOn(scene);
  for (const { metadata: { name } } of await nodesOf(scene)) {
    await scene.cluster.patch(`/api/v1/nodes/${name}`, { metadata: { labels } });
  }
  const edge = { labels, driver: "ostree", reference: commits.a } as const;
  const policy = { budget: { machines: budget }, maxFailed: allowed, inPlace: { boot: "3m" } };
  await scene.waits.until("a NodePool and its policy", createEdge(scene, { ...edge, policy }));
  await stands(scene, "Converged", commits.a);
  return commits;
}

async function rollOut(scene: StoryScene, { b }: Commits): Promise<void> {
  using watch = await BootWatch.start(scene.cluster);
  scene.narrator.say(`  NodePool "edge" changes to ${b.slice(0, 40)}…; on the way the worker is killed with SIGKILL`);
  await ask(scene, b);
  await scene.cluster.until("the reboot of a node", () => Promise.resolve(countsOf(watch).includes(1)), 300);
  await killWorker(scene);
  await stands(scene, "Converged", b);
  await checkNodes(scene, "b", "with the second commit");
  checkBoots(scene, watch, "to the second commit");
}

async function stopAtBad(scene: StoryScene, { c }: Commits): Promise<void> {
  const { narrator, checks } = scene;
  using watch = await BootWatch.start(scene.cluster);
  narrator.say('  NodePool "edge" changes to a commit whose health check fails: a node boots the previous one instead');
  await ask(scene, c);
  const { quarantine = [] } = await stands(scene, "Halted", c);
  await checkNodes(scene, "b", "after the bad commit");
  const reason = quarantine.at(-1)?.reason ?? "";
  checks.add({
    name: "the Rollout reports that a node rolled back",
    ok: reason.includes("UpdateRolledBack"),
    detail: reason.slice(0, 120),
  });
  const tried = await triedOn(scene, c);
  checks.equal("nodes that booted the bad commit", { seen: tried.length, wanted: allowed });
  const booted = [...watch.boots].filter(([, boots]) => boots > 0).map(([name]) => name);
  checks.equal("nodes that rebooted during the rollout of the bad commit", { seen: booted, wanted: tried });
}

async function goBack(scene: StoryScene, { a, b }: Commits): Promise<void> {
  using watch = await BootWatch.start(scene.cluster);
  scene.narrator.say("  the administrator aborts: the pool returns to the last good commit");
  await abort(scene);
  await stands(scene, "Aborted", b);
  await checkNodes(scene, "b", "after the abort");
  scene.narrator.say('  NodePool "edge" changes to the first commit again');
  await ask(scene, a);
  await stands(scene, "Converged", a);
  await checkNodes(scene, "a", "with the first commit again");
  checkBoots(scene, watch, "back to the first commit");
}

/** Checks that all nodes report the OS image of this commit, and that no node is left cordoned. */
async function checkNodes(scene: StoryScene, commit: keyof typeof systems, when: string): Promise<void> {
  const { checks, cluster } = scene;
  const look = async (): Promise<string[]> => (await nodesOf(scene)).map(({ status }) => status.nodeInfo.osImage);
  const wanted = Array<string>(replicas).fill(systems[commit]);
  const seen = await cluster.settled("the OS images that nodes report", { look, wanted });
  checks.equal(`OS images that the nodes report ${when}`, { seen, wanted });
  const left = await cluster.settled("the uncordon of all nodes", { look: () => cordoned(scene), wanted: [] });
  checks.equal(`nodes left cordoned ${when}`, { seen: left, wanted: [] });
}

/** Checks that each node booted once, and that no more nodes than the budget were out of service at once. */
function checkBoots({ checks }: StoryScene, watch: BootWatch, target: string): void {
  checks.equal(`number of boots of each node on the way ${target}`, {
    seen: countsOf(watch),
    wanted: Array<number>(replicas).fill(1),
  });
  checks.add({
    name: `maximum number of nodes out of service at once on the way ${target}`,
    ok: watch.mostOut <= budget,
    detail: `${watch.mostOut}, budget ${budget}`,
  });
}

function countsOf({ boots }: BootWatch): number[] {
  return [...boots.values()];
}

async function machinesOf({ cluster }: StoryScene): Promise<string[]> {
  const path = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
  const machines = await cluster.list<{ metadata: { name: string } }>(path);
  return machines.map(({ metadata }) => metadata.name).sort();
}

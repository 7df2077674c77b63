import type { Play, Story } from "../story.ts";
import { BootWatch } from "./boot_watch.ts";
import { abort, ask, cordoned, createEdge, killWorker, stands } from "./edge_pool.ts";
import { type Commits, commitsOn, nodesOf, systems, triedOn } from "./ostree_nodes.ts";

const replicas = 2;
/** Nodes on which the bad commit may fail before the pool halts. */
const allowed = 1;
const budget = 1;
const labels = { "demo.example/system": "ostree" };

/** Updates the machines of the pool, which boot what ostree deploys, as nodes of a NodePool. */
export const inPlaceOnMachines: Story = {
  title: "Two machines boot other ostree commits in place; a bad commit halts at one machine, and the rollback works",
  replicas,
  surge: 1,
  down: budget,
  policy: {},
  async tell(play: Play): Promise<void> {
    const before = await machinesOf(play);
    const commits = await settle(play);
    await rollOut(play, commits);
    await stopAtBad(play, commits);
    await goBack(play, commits);
    play.checks.equal("machines of the pool, none replaced", { seen: await machinesOf(play), wanted: before });
  },
};

async function settle(play: Play): Promise<Commits> {
  const commits = await commitsOn(play);
  for (const { metadata: { name } } of await nodesOf(play)) {
    await play.cluster.patch(`/api/v1/nodes/${name}`, { metadata: { labels } });
  }
  const edge = { labels, driver: "ostree", reference: commits.a } as const;
  const policy = { budget: { machines: budget }, maxFailed: allowed, inPlace: { boot: "3m" } };
  await play.stage.until("a NodePool and its policy", createEdge(play, { ...edge, policy }));
  await stands(play, "Converged", commits.a);
  return commits;
}

async function rollOut(play: Play, { b }: Commits): Promise<void> {
  using watch = await BootWatch.start(play.cluster);
  play.narrator.say(`  NodePool "edge" changes to ${b.slice(0, 40)}…; on the way the worker is killed with SIGKILL`);
  await ask(play, b);
  await play.cluster.until("the reboot of a node", () => Promise.resolve(countsOf(watch).includes(1)), 300);
  await killWorker(play);
  await stands(play, "Converged", b);
  await checkNodes(play, "b", "with the second commit");
  checkBoots(play, watch, "to the second commit");
}

async function stopAtBad(play: Play, { c }: Commits): Promise<void> {
  const { narrator, checks } = play;
  using watch = await BootWatch.start(play.cluster);
  narrator.say('  NodePool "edge" changes to a commit whose health check fails: a node boots the previous one instead');
  await ask(play, c);
  const { quarantine = [] } = await stands(play, "Halted", c);
  await checkNodes(play, "b", "after the bad commit");
  const reason = quarantine.at(-1)?.reason ?? "";
  checks.add({
    name: "the Rollout reports that a node rolled back",
    ok: reason.includes("UpdateRolledBack"),
    detail: reason.slice(0, 120),
  });
  const tried = await triedOn(play, c);
  checks.equal("nodes that booted the bad commit", { seen: tried.length, wanted: allowed });
  const booted = [...watch.boots].filter(([, boots]) => boots > 0).map(([name]) => name);
  checks.equal("nodes that rebooted during the rollout of the bad commit", { seen: booted, wanted: tried });
}

async function goBack(play: Play, { a, b }: Commits): Promise<void> {
  using watch = await BootWatch.start(play.cluster);
  play.narrator.say("  the administrator aborts: the pool returns to the last good commit");
  await abort(play);
  await stands(play, "Aborted", b);
  await checkNodes(play, "b", "after the abort");
  play.narrator.say('  NodePool "edge" changes to the first commit again');
  await ask(play, a);
  await stands(play, "Converged", a);
  await checkNodes(play, "a", "with the first commit again");
  checkBoots(play, watch, "back to the first commit");
}

/** Checks that all nodes run a commit, and that none is left cordoned. */
async function checkNodes(play: Play, commit: keyof typeof systems, when: string): Promise<void> {
  const { checks, cluster } = play;
  const look = async (): Promise<string[]> => (await nodesOf(play)).map(({ status }) => status.nodeInfo.osImage);
  const wanted = Array<string>(replicas).fill(systems[commit]);
  const seen = await cluster.settled("the OS images that nodes report", { look, wanted });
  checks.equal(`OS images that the nodes report ${when}`, { seen, wanted });
  const left = await cluster.settled("the uncordon of all nodes", { look: () => cordoned(play), wanted: [] });
  checks.equal(`nodes left cordoned ${when}`, { seen: left, wanted: [] });
}

/** Checks that each node booted once, one after another. */
function checkBoots({ checks }: Play, watch: BootWatch, target: string): void {
  checks.equal(`boots of each node ${target}`, { seen: countsOf(watch), wanted: Array<number>(replicas).fill(1) });
  checks.add({
    name: `most nodes out of service at once on the way ${target}`,
    ok: watch.mostOut <= budget,
    detail: `${watch.mostOut}, budget ${budget}`,
  });
}

function countsOf({ boots }: BootWatch): number[] {
  return [...boots.values()];
}

async function machinesOf({ cluster }: Play): Promise<string[]> {
  const path = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
  const machines = await cluster.list<{ metadata: { name: string } }>(path);
  return machines.map(({ metadata }) => metadata.name).sort();
}

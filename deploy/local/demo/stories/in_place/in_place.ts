import type { ImageGround } from "../../../cloud/image_nodes/image_ground.ts";
import { digestOf, imageOf } from "../../images_ground.ts";
import type { Story, StoryScene } from "../story.ts";
import { abort, ask, cordoned, createEdge, killWorker, restsHalted, stands } from "./edge_pool.ts";

/** The pool halts when this number of nodes has failed with the bad image. */
const allowed = 2;
const budget = 2;

/** Updates twelve nodes in place, beside a pool of machine-controller that does not change. */
export const inPlace: Story = {
  title: "Twelve nodes are updated in place; the pool halts after two bad boots, and the rollback works",
  replicas: 1,
  surge: 1,
  policy: {},
  prepare,
  async tell(scene: StoryScene): Promise<void> {
    await rollOut(scene);
    await stopAtBad(scene);
    await goBack(scene);
  },
};

async function prepare(scene: StoryScene): Promise<void> {
  const { waits, site } = scene;
  await waits.until("twelve nodes with images", groundOf(scene).settle(site.stack.adminKubeconfig));
  const edge = { labels: { pool: "edge" }, driver: "bootc", reference: imageOf("a") } as const;
  const policy = { budget: { machines: budget }, maxFailed: allowed };
  await waits.until("a NodePool and its policy", createEdge(scene, { ...edge, policy }));
  await stands(scene, "Converged", imageOf("a"));
}

async function rollOut(scene: StoryScene): Promise<void> {
  const { narrator, checks } = scene;
  const ground = groundOf(scene);
  narrator.say(
    `  NodePool "edge" changes to ${imageOf("b").slice(0, 40)}…; on the way the worker is killed with SIGKILL`,
  );
  await ask(scene, imageOf("b"));
  await scene.cluster.until("the second boot of a node", () => Promise.resolve(bootsOf(ground) >= 2));
  await killWorker(scene);
  await stands(scene, "Converged", imageOf("b"));
  checks.equal("images of the nodes", { seen: runsOf(ground), wanted: "b".repeat(12) });
  checks.equal("boots ordered for each node", { seen: [...new Set(bootsEach(ground))], wanted: [1] });
  checks.add({
    name: "maximum number of nodes down at once",
    ok: ground.mostDown <= budget,
    detail: `${ground.mostDown}, budget ${budget}`,
  });
  checks.equal("nodes left cordoned", { seen: await cordoned(scene), wanted: [] });
}

async function stopAtBad(scene: StoryScene): Promise<void> {
  const { narrator, checks } = scene;
  const ground = groundOf(scene);
  narrator.say('  NodePool "edge" changes to an image that fails to boot: its nodes boot the previous image instead');
  ground.fate = () => "rolls back";
  await ask(scene, imageOf("c"));
  const { quarantine = [] } = await stands(scene, "Halted", imageOf("c"));
  await restsHalted(scene);
  const reason = quarantine.at(-1)?.reason ?? "";
  checks.add({
    name: "the Rollout reports which node booted which image",
    ok: /UpdateRolledBack: .*"image-\d\d".*sha256:b+/.test(reason),
    detail: reason.slice(0, 120),
  });
  const tried = bootsEach(ground).filter((boots) => boots > 1).length;
  checks.add({
    name: "nodes that tried the image before the pool halted",
    ok: tried >= allowed && tried < allowed + budget,
    detail: `${tried}; the pool halts after ${allowed} failures, and finishes updates in progress`,
  });
  checks.equal("images of the nodes after the halt", { seen: runsOf(ground), wanted: "b".repeat(12) });
  checks.equal("nodes left cordoned after the halt", { seen: await cordoned(scene), wanted: [] });
}

async function goBack(scene: StoryScene): Promise<void> {
  const { narrator, checks } = scene;
  const ground = groundOf(scene);
  ground.fate = () => "boots";
  narrator.say("  the administrator aborts: the pool returns to the last good image");
  await abort(scene);
  await stands(scene, "Aborted", imageOf("b"));
  checks.equal("images of the nodes after the abort", { seen: runsOf(ground), wanted: "b".repeat(12) });
  narrator.say('  NodePool "edge" changes to the first image again, which the nodes ran at the start');
  await ask(scene, imageOf("a"));
  await stands(scene, "Converged", imageOf("a"));
  checks.equal("images of the nodes at the end", { seen: runsOf(ground), wanted: "a".repeat(12) });
  checks.equal("nodes left cordoned at the end", { seen: await cordoned(scene), wanted: [] });
}

function groundOf({ ground }: StoryScene): ImageGround {
  if (!ground.images) throw new Error("Failed to find nodes that boot OS images: the story needs simulated machines");
  return ground.images;
}

function bootsEach(ground: ImageGround): number[] {
  return [...ground.nodes.values()].map(({ boots }) => boots);
}

function bootsOf(ground: ImageGround): number {
  return bootsEach(ground).reduce((sum, boots) => sum + boots, 0);
}

/** Returns one letter for the image of each node, sorted. */
function runsOf(ground: ImageGround): string {
  const letters = [...ground.nodes.values()].map(({ state }) => state.booted);
  return letters.map((digest) => ["a", "b", "c"].find((letter) => digestOf(letter) === digest) ?? "?").sort().join("");
}

import type { ImageGround } from "../../../cloud/image_nodes/image_ground.ts";
import { digestOf, imageOf } from "../../images_ground.ts";
import type { Play, Story } from "../story.ts";
import { abort, ask, cordoned, createEdge, killWorker, stands } from "./edge_pool.ts";

/** Nodes on which the bad image does not come up. */
const allowed = 2;
const budget = 2;

/** Twelve nodes that are dear to replace, beside a pool of machine-controller's that nothing happens to. */
export const inPlace: Story = {
  title: "Twelve nodes take another image where they stand; a bad one stops at two of them, and the way back works",
  replicas: 1,
  surge: 1,
  policy: {},
  prepare,
  async tell(play: Play): Promise<void> {
    await rollOut(play);
    await stopAtBad(play);
    await goBack(play);
  },
};

async function prepare(play: Play): Promise<void> {
  const { stage, site } = play;
  await stage.until("twelve nodes of images", groundOf(play).settle(site.stack.adminKubeconfig));
  await createEdge(play, {
    ...{ labels: { pool: "edge" }, driver: "bootc", reference: imageOf("a") },
    policy: { budget: { machines: budget }, maxFailed: allowed },
  });
  await stands(play, "Converged", imageOf("a"));
}

async function rollOut(play: Play): Promise<void> {
  const { narrator, checks } = play;
  const ground = groundOf(play);
  narrator.say(
    `  NodePool "edge" asks for ${imageOf("b").slice(0, 40)}…; on the way the worker is killed with SIGKILL`,
  );
  await ask(play, imageOf("b"));
  await play.cluster.until("a node to go down", () => Promise.resolve(bootsOf(ground) >= 2));
  await killWorker(play);
  await stands(play, "Converged", imageOf("b"));
  checks.equal("what the nodes run", { seen: runsOf(ground), wanted: "b".repeat(12) });
  checks.equal("orders to boot that each node got", { seen: [...new Set(bootsEach(ground))], wanted: [1] });
  checks.add({
    name: "nodes that were down at once",
    ok: ground.mostDown <= budget,
    detail: `${ground.mostDown} of ${budget} that may be`,
  });
  checks.equal("nodes that are left cordoned", { seen: await cordoned(play), wanted: [] });
}

async function stopAtBad(play: Play): Promise<void> {
  const { narrator, checks } = play;
  const ground = groundOf(play);
  narrator.say(`  it asks for an image that does not come up: these nodes boot the one before instead`);
  ground.fate = () => "rolls back";
  await ask(play, imageOf("c"));
  const { quarantine = [] } = await stands(play, "Halted", imageOf("c"));
  // What is under way when it stops is ended, and its nodes are uncordoned.
  await play.cluster.until("what is under way to end", async () => (await cordoned(play)).length === 0);
  const reason = quarantine.at(-1)?.reason ?? "";
  checks.add({
    name: "the Rollout says which node booted what",
    ok: /UpdateRolledBack: .*"image-\d\d".*sha256:b+/.test(reason),
    detail: reason.slice(0, 120),
  });
  const tried = bootsEach(ground).filter((boots) => boots > 1).length;
  checks.add({
    name: "nodes that were tried before the pool stopped",
    ok: tried >= allowed && tried < allowed + budget,
    detail: `${tried}; it stops at ${allowed}, and ends what is under way`,
  });
  checks.equal("what the nodes run", { seen: runsOf(ground), wanted: "b".repeat(12) });
  checks.equal("nodes that are left cordoned", { seen: await cordoned(play), wanted: [] });
}

async function goBack(play: Play): Promise<void> {
  const { narrator, checks } = play;
  const ground = groundOf(play);
  ground.fate = () => "boots";
  narrator.say("  somebody aborts: the pool goes back to the image that was good before");
  await abort(play);
  await stands(play, "Aborted", imageOf("b"));
  checks.equal("what the nodes run", { seen: runsOf(ground), wanted: "b".repeat(12) });
  narrator.say("  it asks for the very first image again, whose digest ran before");
  await ask(play, imageOf("a"));
  await stands(play, "Converged", imageOf("a"));
  checks.equal("what the nodes run then", { seen: runsOf(ground), wanted: "a".repeat(12) });
  checks.equal("nodes that are left cordoned then", { seen: await cordoned(play), wanted: [] });
}

function groundOf({ ground }: Play): ImageGround {
  if (!ground.images) throw new Error("Cannot tell of nodes of images: this ground has none");
  return ground.images;
}

function bootsEach(ground: ImageGround): number[] {
  return [...ground.nodes.values()].map(({ boots }) => boots);
}

function bootsOf(ground: ImageGround): number {
  return bootsEach(ground).reduce((sum, boots) => sum + boots, 0);
}

/** A letter for each node. */
function runsOf(ground: ImageGround): string {
  const letters = [...ground.nodes.values()].map(({ state }) => state.booted);
  return letters.map((digest) => ["a", "b", "c"].find((letter) => digestOf(letter) === digest) ?? "?").sort().join("");
}

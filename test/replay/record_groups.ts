// deno-lint-ignore-file no-console -- this program prints its records
/**
 * Records histories of scaling groups with a real API server and Ostler's processes, because no pool in memory
 * simulates a scaling group.
 */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import { alpha, beta } from "../support/group_story.ts";
import { inScene, type Scene } from "../integration/group_scene.ts";
import { badImage, image } from "../support/group_everyday.ts";
import { plainHistory } from "./plain_history.ts";

const folder = fileURLToPath(new URL("./histories/roll_out_scaling_group/", import.meta.url));
const { version: release } = manifest;

/**
 * The stories to record, each for two groups: one adds a machine before it deletes one, the other already has its
 * maximum size. One story is a complete rollout; in the other a bad image halts the rollout, which is rolled back.
 */
const recorded = { rolling: image, halted_rolled_back: badImage };

async function keep({ world }: Scene, story: string): Promise<void> {
  for (const { name } of [alpha, beta]) {
    const path = join(folder, `${release}-${story}_${name}.json`);
    const history = await world.temporal.workflow.getHandle(`scaling-group/${name}`).fetchHistory();
    await writeFile(path, `${plainHistory(history)}\n`);
    console.log(`recorded ${path}: ${history.events?.length} events`);
  }
}

await mkdir(folder, { recursive: true });
const stories = Object.entries(recorded).filter(([title]) => {
  return !existsSync(join(folder, `${release}-${title}_alpha.json`));
});
if (stories.length > 0) {
  await inScene({ cast: [[alpha, 2], [beta, 0]] }, async (scene) => {
    for (const [title, story] of stories) {
      await story(scene);
      await keep(scene, title);
    }
  });
}
Deno.exit(0);

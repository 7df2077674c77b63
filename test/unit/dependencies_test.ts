/** The packages that are installed for the product, and those that it imports. */
import assert from "node:assert/strict";
import manifest from "../../package.json" with { type: "json" };

const root = new URL("../../", import.meta.url);
const folders = ["activities", "cli", "deploy", "profiles", "workers", "workflows"];

async function* filesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* filesIn(path);
    else if (name.endsWith(".ts")) yield path;
  }
}

Deno.test("fault U8: dependencies: Ostler imports each dependency outside of the tests", async () => {
  const unused = new Set(Object.keys(manifest.dependencies));
  for (const folder of folders) {
    for await (const path of filesIn(folder)) {
      const text = await Deno.readTextFile(new URL(path, root));
      for (const name of unused) if (text.includes(`"${name}"`) || text.includes(`"${name}/`)) unused.delete(name);
    }
  }
  assert.deepEqual([...unused], []);
});

import assert from "node:assert/strict";
import { firstRelease, nextRelease } from "../../../../deploy/local/demo/pool_objects.ts";
import { kubeletVersions } from "../../../../deploy/local/tools/machine_versions.ts";
import { recipeDigest, wrapperModule } from "../../../../deploy/local/tools/recipe.ts";
import { recipes } from "../../../../deploy/local/tools/recipes/catalogue.ts";
import { machineToolNames, stackToolNames } from "../../../../deploy/local/tools/tool_name.ts";

Deno.test("recipes: build the kubelets of the demo's machines", () => {
  const built = Object.values(kubeletVersions).map((version) => version.slice(1));
  assert.deepEqual([firstRelease.kubelet, nextRelease.kubelet], built);
});

Deno.test("recipes: build each kubelet from its own release and set its version", () => {
  for (const [tool, version] of Object.entries(kubeletVersions) as [keyof typeof kubeletVersions, string][]) {
    const { ldflags } = recipes[tool];
    assert.match(ldflags, new RegExp(`version\\.gitVersion=${version.replaceAll(".", "\\.")}( |$)`));
    const lines = wrapperModule(recipes[tool]).split("\n").filter((line) => line.startsWith("re"));
    for (const line of lines) assert.ok(line.endsWith(version) || line.endsWith(version.replace("v1", "v0")), line);
  }
});

Deno.test("recipes: target Linux only for programs that run on machines", () => {
  for (const tool of machineToolNames) assert.equal(recipes[tool].target, "linux", tool);
  for (const tool of stackToolNames) assert.equal(recipes[tool].target, undefined, tool);
});

Deno.test("recipeDigest: changes with every input of a build", () => {
  const { runc } = recipes;
  const source = runc.source;
  assert.ok(source);
  const { isPartlyC: _, ...pure } = runc;
  const others = [pure, { ...runc, tags: [] }, { ...runc, source: { ...source, write: {} } }];
  const digests = [runc, ...others].map((recipe) => recipeDigest(recipe, "runc"));
  assert.equal(new Set(digests).size, 4);
});

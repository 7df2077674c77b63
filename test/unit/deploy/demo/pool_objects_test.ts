import assert from "node:assert/strict";
import {
  firstRelease,
  machineDeployment,
  nextRelease,
  releasePatch,
} from "../../../../deploy/local/demo/pool_objects.ts";

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null) return patch;
  const base = typeof target === "object" && target !== null ? target : {};
  const merged = Object.entries(patch).map(([key, value]) => [key, merge(Reflect.get(base, key), value)]);
  return { ...base, ...Object.fromEntries(merged) };
}

Deno.test("releasePatch: changes the first release to the next and nothing else", () => {
  const patched = merge(machineDeployment({ replicas: 3, release: firstRelease }), releasePatch(nextRelease));
  assert.deepEqual(patched, machineDeployment({ replicas: 3, release: nextRelease }));
  assert.notDeepEqual(patched, machineDeployment({ replicas: 3, release: firstRelease }));
});

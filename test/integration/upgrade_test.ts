/** A real API server accepts the manifests of this version over those of each recorded one. */
import { ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { plainValues } from "../../deploy/release/chart/plain_manifests.ts";
import { applyObjects, parseManifests } from "../../deploy/local/stack/manifests.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { chartObjects } from "../support/chart_objects.ts";
import { withApi } from "./bare_api.ts";

const folder = new URL("../replay/manifests/", import.meta.url);

Deno.test("upgrade: an API server accepts this version's manifests over those of each recorded version", async (t) => {
  const { helm } = await resolveTools(["helm"]);
  const after = await chartObjects({ helm, set: plainValues });
  ok(after.length > 40);
  // Applying a recorded version also removes the fields that only this version sets, so one API server is enough for
  // all recorded versions.
  await withApi(async ({ kubeconfig }) => {
    for (const name of readdirSync(folder).filter((each) => each.endsWith(".yaml"))) {
      const before = parseManifests(readFileSync(new URL(name, folder), "utf8"), name);
      await t.step(name.slice(0, -".yaml".length), async () => {
        for (const objects of [before, after]) await applyObjects(kubeconfig, kindsFirst(objects));
      });
    }
  });
});

/** Sorts objects as Helm does: Namespaces and CRDs first, because other objects depend on them. */
function kindsFirst<T extends { kind: string }>(objects: readonly T[]): T[] {
  const first = ["Namespace", "CustomResourceDefinition"];
  return [...objects].sort((one, other) => placeOf(one) - placeOf(other));
  function placeOf({ kind }: T): number {
    return first.includes(kind) ? first.indexOf(kind) : first.length;
  }
}

/** A real API server takes what this version installs over what each recorded one did. */
import { ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { plainValues } from "../../deploy/release/chart/plain_manifests.ts";
import { applyObjects, parseManifests } from "../../deploy/local/stack/manifests.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { chartObjects } from "../support/chart_objects.ts";
import { withApi } from "./bare_api.ts";

const folder = new URL("../replay/manifests/", import.meta.url);

for (const name of readdirSync(folder).filter((each) => each.endsWith(".yaml"))) {
  Deno.test(`an API server lets ${name.slice(0, -".yaml".length)} be updated to this version`, async () => {
    const { helm } = await resolveTools(["helm"]);
    const before = parseManifests(readFileSync(new URL(name, folder), "utf8"), name);
    const after = await chartObjects({ helm, set: plainValues });
    ok(after.length > 40);
    await withApi(async ({ kubeconfig }) => {
      for (const objects of [before, after]) await applyObjects(kubeconfig, kindsFirst(objects));
    });
  });
}

/** As Helm sorts them: what others stand on comes before them. */
function kindsFirst<T extends { kind: string }>(objects: readonly T[]): T[] {
  const first = ["Namespace", "CustomResourceDefinition"];
  return [...objects].sort((one, other) => placeOf(one) - placeOf(other));
  function placeOf({ kind }: T): number {
    return first.includes(kind) ? first.indexOf(kind) : first.length;
  }
}

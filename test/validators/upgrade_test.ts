/** An upgrade from each earlier version works; the manifests of a version were recorded at its release. */
import { deepEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { plainValues } from "../../deploy/release/chart/plain_manifests.ts";
import { entryOf } from "../../deploy/release/changelog.ts";
import { parseManifests } from "../../deploy/local/stack/manifests.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import manifest from "../../package.json" with { type: "json" };
import { chartObjects } from "../support/chart_objects.ts";
import { upgradeBreaks } from "../support/upgrade_breaks.ts";

const folder = new URL("../replay/manifests/", import.meta.url);
const recorded = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
const notes = entryOf(readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8"), manifest.version)?.notes ??
  "";

Deno.test("upgrade: manifests of at least one version are recorded (replay:record)", () => ok(recorded.length > 0));

for (const name of recorded) {
  Deno.test(`upgrade: ${name.slice(0, -".yaml".length)} can be upgraded to this version`, async () => {
    const { helm } = await resolveTools(["helm"]);
    const before = parseManifests(readFileSync(new URL(name, folder), "utf8"), name);
    ok(before.length > 40);
    deepEqual(upgradeBreaks(before, await chartObjects({ helm, set: plainValues }), notes), []);
  });
}

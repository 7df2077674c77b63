/** The chart and manifests of `deno task release`; command and image take minutes, and are excluded by name. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseOptions } from "../../deploy/release/options.ts";
import { makeRelease } from "../../deploy/release/release.ts";
import { parseManifests } from "../../deploy/local/stack/manifests.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import manifest from "../../package.json" with { type: "json" };
import { chartObjects } from "../support/chart_objects.ts";

const { version } = manifest;
const tools = await resolveTools(["helm", "kubectl"]);
const little = ["--draft", "--without=cli,image"];

Deno.test("release: two runs make the same chart, manifests, notes, and checksums", async () => {
  const folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), "ostler-release-")));
  try {
    const said: string[] = [];
    for (const output of folders) {
      await makeRelease(parseOptions([...little, "--output", output]), tools, (text) => void said.push(text));
    }
    const [first = "", second = ""] = folders;
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
    equal(sums, readFileSync(join(second, "SHA256SUMS"), "utf8"));
    execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: first });
    deepEqual(sums.match(/\S+$/gm)?.concat("SHA256SUMS").sort(), readdirSync(first).sort());
    ok(said.includes("Skipped: command") && said.includes("Skipped: image"));

    const chart = join(first, `ostler-${version}.tgz`);
    const order = { helm: tools.helm, set: ["namespaces.own=true"] };
    const packed = await chartObjects({ ...order, chart });
    deepEqual(packed, await chartObjects(order));
    const names = (objects: readonly { kind: string; metadata: { name: string } }[]): string[] =>
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
    const plain = parseManifests(readFileSync(join(first, `ostler-${version}.yaml`), "utf8"), "plain");
    deepEqual(names(plain), names(packed));
    match(JSON.stringify(plain), new RegExp(`"ostler:${version}"`));
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true });
  }
});

/** The version is in package.json, and every other file has the same. */
import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync } from "node:fs";
import manifest from "../../../../package.json" with { type: "json" };
import { versioned } from "../../../../deploy/release/chart/chart_version.ts";
import { FakeTerminal } from "../../../support/fake_terminal.ts";

const { version } = manifest;

function textOf(path: string): string {
  return readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");
}

Deno.test("version: follows Semantic Versioning, and is valid as an image tag and as a label value", () => {
  match(version, /^\d+\.\d+\.\d+(-[a-z0-9.]+)?$/);
});

Deno.test("ostler --version: prints the version of package.json", async () => {
  using terminal = new FakeTerminal();
  equal((await terminal.run(["--version"])).out, `${version}\n`);
});

Deno.test("chart: has the version of package.json, as deno task manifests writes it", () => {
  const chart = textOf("deploy/chart/Chart.yaml");
  equal(chart, versioned(chart, version));
  match(chart, new RegExp(`^version: ${version}\nappVersion: "${version}"$`, "m"));
  equal(versioned(versioned(chart, "9.9.9-rc.1"), version), chart);
});

for (const file of ["controller.yaml", "worker.yaml", "setup/setup.yaml", "webhook/webhook.yaml"]) {
  Deno.test(`${file}: runs the image of the version in package.json, and has that version as its label`, () => {
    const text = textOf(`deploy/kubernetes/${file}`);
    deepEqual(text.match(/(?<=image: ).*/g), [`ostler:${version}`]);
    deepEqual(text.match(/(?<=app.kubernetes.io\/version: ).*/g), [`"${version}"`]);
  });
}

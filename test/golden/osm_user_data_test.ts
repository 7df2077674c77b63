/**
 * The user-data of every recorded config equals that of Operating System Manager, or the fixed text in `corrected/`.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { edgeScript, generateUserData, type OsConfig, type Phase, ProfileRefused } from "../../profiles/mod.ts";
import { differs } from "../support/osm_differences.ts";
import {
  correctedEdgeScript,
  correctedEdgeScriptFile,
  expectedConfig,
  expectedText,
  getterToken,
  type OsmCase,
  osmCase,
  osmCaseNames,
  secondInput,
} from "../support/osm_vectors.ts";

const isUpdate = process.env["GOLDEN"] === "update";
const phases: Phase[] = ["bootstrap", "provisioning"];

/** The reasons for which a text may differ from the recorded one; differences.yaml explains them. */
const mendings = [
  ...["commands-stay-strings", "settings-stay-strings", "quotes-in-keys-and-paths", "indentation-kept"],
  ...[
    "line-ends-kept",
    "permissions-in-four-digits",
    "permissions-are-octal",
    "machine-name-in-units",
    "nothing-is-not-null",
  ],
];

const recorded = osmCaseNames().map(osmCase).flatMap((one) => [one, secondInput(one) ?? []].flat())
  .filter((one) => expectedConfig(one) !== undefined);

function userDataOf(of: OsmCase, phase: Phase): string {
  const { spec } = expectedConfig(of) ?? assert.fail(`Expected a config of ${of.name}`);
  const { value } = of.deployment.spec.template.spec.providerSpec;
  const { distUpgradeOnBoot = false } = (value as { operatingSystemSpec?: { distUpgradeOnBoot?: boolean } })
    .operatingSystemSpec ?? {};
  return generateUserData(complete(spec), phase, { name: of.deployment.metadata.name, distUpgradeOnBoot });
}

/** Adds the empty fields of a config, which the records omit. */
function complete(spec: OsConfig): OsConfig {
  const nothing = { files: [], userSSHKeys: [] };
  const { bootstrapConfig, provisioningConfig } = spec;
  return {
    ...spec,
    bootstrapConfig: { ...nothing, ...bootstrapConfig },
    provisioningConfig: { ...nothing, ...provisioningConfig },
  };
}

function correctedFile(of: OsmCase, phase: Phase): string {
  return `${of.expected.replace(/expected(2?)\/$/, "corrected$1/")}${phase}`;
}

async function rewrite(of: OsmCase, phase: Phase): Promise<void> {
  const file = correctedFile(of, phase);
  const text = userDataOf(of, phase);
  if (text === expectedText(of, phase)) return await rm(file, { force: true });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

for (const one of recorded) {
  for (const phase of phases) {
    const original = expectedText(one, phase);
    const which = `${one.name}${one.expected.endsWith("2/") ? " after its second input" : ""}`;
    if (original === undefined) {
      Deno.test(`${phase} user-data of ${which}: is refused, as Operating System Manager refused it`, () => {
        assert.match(expectedText(one, "error.txt") ?? "", /failed to convert container linux config to ignition/);
        assert.throws(() => userDataOf(one, phase), ProfileRefused);
      });
      continue;
    }
    Deno.test(`${phase} user-data of ${which}: equals that of Operating System Manager, or its correction in corrected/`, async () => {
      if (isUpdate) await rewrite(one, phase);
      const file = correctedFile(one, phase);
      const isMended = existsSync(file);
      if (isMended) {
        assert.ok(mendings.some((name) => differs(name, one.name)), `Expected a difference that names ${one.name}`);
      }
      const wanted = isMended ? readFileSync(file, "utf8") : original;
      assert.equal(isMended && wanted === original, false, `${file} mends nothing`);
      assert.equal(userDataOf(one, phase), wanted);
    });
  }
}

Deno.test("differences: each case that differences.yaml lists for a fix has a corrected user-data", () => {
  for (const name of mendings) {
    for (const one of recorded.filter((each) => differs(name, each.name))) {
      assert.ok(
        phases.some((phase) => existsSync(correctedFile(one, phase))),
        `Expected ${name} to be visible in ${one.name}`,
      );
    }
  }
});

Deno.test("edge machine: its script equals that of Operating System Manager, with the fix that differences.yaml lists", async () => {
  const one = osmCase("gen-edge");
  const secret = "gen-edge-kube-system-bootstrap-config";
  const kubeconfig = expectedText(one, "kubeconfig") ?? "";
  const [, ca = ""] = /certificate-authority-data: (.+)/.exec(kubeconfig) ?? [];
  const [, apiServer = ""] = /server: (.+)/.exec(kubeconfig) ?? [];
  const script = edgeScript({ apiServer, caPem: atob(ca), token: getterToken, secret });
  assert.ok(differs("edge-script-keeps-its-token", one.name));
  if (isUpdate) await writeFile(correctedEdgeScriptFile(one), script);
  assert.equal(script, correctedEdgeScript(one));
  assert.match(expectedText(one, "edge-script") ?? "", /^curl -s -k -v /m);
});

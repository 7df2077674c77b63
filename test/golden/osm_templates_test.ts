/** Go templates have the same output as in Operating System Manager: every recorded file, and every recorded error. */
import assert from "node:assert/strict";
import { GoEngine } from "../../profiles/engines/go.ts";
import { TemplateFault } from "../../profiles/engines/template_engine.ts";
import { goData } from "../../profiles/go_data.ts";
import type { OsProfile } from "../../profiles/mod.ts";
import { differs, withHubHost } from "../support/osm_differences.ts";
import {
  expectedConfig,
  expectedText,
  factsOf,
  type OsmCase,
  osmCase,
  osmCaseNames,
  profileOf,
  secondInput,
} from "../support/osm_vectors.ts";

type PhaseName = "bootstrapConfig" | "provisioningConfig";

const phases: PhaseName[] = ["bootstrapConfig", "provisioningConfig"];

interface Templates {
  files: { path: string; template: string }[];
  snippets: Record<string, string>;
}

function templatesOf(profile: OsProfile, name: PhaseName): Templates {
  const { files = [], templates, supportedContainerRuntimes = [] } = profile[name];
  const runtime = supportedContainerRuntimes.find(({ name }) => name === "containerd");
  return {
    files: [...files, ...runtime?.files ?? []].map(({ path, content }) => ({ path, template: content.inline.data })),
    snippets: { ...runtime?.templates, ...templates },
  };
}

const engine = new GoEngine();

Deno.test.afterAll(() => engine.close());

function render(of: OsmCase, templates: Templates): Promise<string[]> {
  return engine.render({ scope: of.name, ...templates, data: goData(factsOf(of)) });
}

async function compareWithRecorded(of: OsmCase): Promise<void> {
  const profile = profileOf(of);
  for (const phase of phases) {
    const templates = templatesOf(profile, phase);
    const texts = await render(of, templates);
    // The recorded host files of registries, which are not made by templates, come last and are not compared.
    const recorded = expectedConfig(of)?.spec[phase].files?.slice(0, texts.length) ?? [];
    const found = texts.map((text, index) => ({ path: templates.files[index]?.path, text }));
    const textOf = (text: string): string => differs("docker-hub-by-its-host", of.name) ? withHubHost(text) : text;
    const wanted = recorded.map(({ path, content }) => ({ path, text: textOf(content.inline.data) }));
    assert.deepEqual(found, wanted, phase);
  }
}

const cases = osmCaseNames().map(osmCase);

for (const one of cases.filter(({ name }) => !name.startsWith("err-"))) {
  Deno.test(`Go templates of ${one.name}: render the recorded files`, async () => {
    await compareWithRecorded(one);
    // For cases named "rot-none-" Operating System Manager does not render the second input, so no output of it is
    // recorded.
    const second = one.name.startsWith("rot-none-") ? undefined : secondInput(one);
    if (second !== undefined) await compareWithRecorded(second);
  });
}

/** The text that Operating System Manager puts around Go's own message; Ostler names only the file or snippet. */
const wrapper = new RegExp(
  "^log: failed to reconcile operating system config: failed to generate \\S+ osc: " +
    "failed to render bootstrapping file templates: failed to (populate OSP file template|add OSP templates): " +
    "(failed to parse OSP (file \\[[^\\]]+\\] template|template \\[[^\\]]+\\]): )?(?=template: )",
);

async function faultOf(rendering: Promise<string[]>): Promise<TemplateFault> {
  const error = await rendering.then((texts) => new Error(`it rendered ${texts}`), (error) => error);
  assert.ok(error instanceof TemplateFault, String(error));
  return error;
}

const refused = cases.filter((one) => wrapper.test(expectedText(one, "error.txt") ?? ""));

for (const one of refused) {
  Deno.test(`Go templates of ${one.name}: fail with the recorded message`, async () => {
    const profile = profileOf(one);
    const fault = await faultOf(
      phases.reduce<Promise<string[]>>(
        (before, phase) => before.then(() => render(one, templatesOf(profile, phase))),
        Promise.resolve([]),
      ),
    );
    const recorded = expectedText(one, "error.txt")?.replace(wrapper, "").trimEnd();
    const isSnippet = fault.file === undefined;
    assert.equal(isSnippet ? fault.message.replace(/^snippet "[^"]+": /, "") : fault.message, recorded);
  });
}

Deno.test("Go templates: every case with a recorded template error is compared", () => {
  const ofTemplates = cases.filter((one) => /: template: /.test(expectedText(one, "error.txt") ?? ""));
  assert.deepEqual(refused.map(({ name }) => name), ofTemplates.map(({ name }) => name));
  assert.equal(refused.length, 19);
});

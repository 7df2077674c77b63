import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import {
  closeTemplateEngines,
  defaultProfiles,
  type OsConfig,
  type OsProfile,
  type Phase,
  renderConfig,
} from "../../profiles/mod.ts";
import { factsFor } from "../support/default_profile_facts.ts";
import { type ProfileCase, profileCases } from "./default_profile_cases.ts";

const folder = fileURLToPath(new URL("./default_profiles/", import.meta.url));
const isUpdate = process.env["GOLDEN"] === "update";

async function render({ profile, provider, facts }: ProfileCase, profiles: Map<string, OsProfile>): Promise<OsConfig> {
  const spec = profiles.get(profile);
  assert.ok(spec, profile);
  return await renderConfig(spec, factsFor(spec, provider, facts));
}

/**
 * Returns the records by path: for each case a list of its files, and each different text once, under the first case
 * that has it.
 */
async function recordOf(cases: Record<string, ProfileCase>): Promise<Map<string, string>> {
  const profiles = new Map((await defaultProfiles()).map(({ metadata, spec }) => [metadata.name, spec]));
  const record = new Map<string, string>();
  const known = new Map<string, string>();
  for (const [name, one] of Object.entries(cases)) {
    const config = await render(one, profiles);
    const lines = (["bootstrap", "provisioning"] as Phase[]).flatMap((phase) => {
      const { files, units = [], modules = {} } = config[`${phase}Config`];
      const listed = files.map(({ path, permissions, content: { inline: { data } } }) => {
        const first = known.get(`${path}\n${data}`) ?? name;
        known.set(`${path}\n${data}`, first);
        record.set(join("files", path, first), data);
        return `${phase.padEnd(12)} ${permissions} ${path} as in ${first}\n`;
      });
      return [...listed, `${phase.padEnd(12)} ${JSON.stringify({ units, modules })}\n`];
    });
    record.set(`${name}.txt`, lines.join(""));
  }
  return record;
}

function recorded(): Map<string, string> {
  if (!existsSync(folder)) return new Map();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(folder.length), readFileSync(path, "utf8")];
  }));
}

async function rewrite(record: Map<string, string>): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  for (const [path, text] of record) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

Deno.test("default profiles: render every case as recorded", async () => {
  let record: Map<string, string>;
  try {
    record = await recordOf(profileCases);
  } finally {
    await closeTemplateEngines();
  }
  if (isUpdate) await rewrite(record);
  const expected = recorded();
  for (const [path, text] of record) assert.equal(text, expected.get(path) ?? "(not recorded)", path);
  assert.deepEqual([...record.keys()].sort(), [...expected.keys()].sort());
});

/** The chart's schema has every setting; `GOLDEN=update` writes that part of it anew. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { parse } from "yaml";
import { NodeSettings } from "../../../../profiles/node_settings.ts";
import { type SettingRow, settingRows } from "../../../../profiles/settings/settings_table.ts";
import { OsmSettings, ProcessSettings } from "../../../../workers/process_settings.ts";

const chart = new URL("../../../../deploy/chart/", import.meta.url);
const schemaFile = new URL("values.schema.json", chart);
const page = new URL("../../../../docs/reference/settings.md", import.meta.url);

const rows = [NodeSettings, ProcessSettings, OsmSettings].flatMap((shape) => settingRows(shape));

/** The JSON types that the chart's values accept for a setting of each form. */
const types: Record<SettingRow["form"], string[]> = {
  text: ["string", "integer"],
  file: ["string"],
  truth: ["boolean", "string"],
  repeated: ["array", "string"],
  json: ["object", "string"],
};

/**
 * Flags whose values are always strings, never numbers: addresses, and names of the form `namespace/name`. The chart's
 * templates split these values.
 */
const takenApart = /-(address|secret|account-name|endpoint)$/;

function propertiesOf(some: SettingRow[]): Record<string, unknown> {
  return Object.fromEntries(some.map(({ flag, form, standard, description }) => [
    flag,
    { type: takenApart.test(flag) ? ["string"] : types[form], ...(standard && { default: standard }), description },
  ]));
}

/** Returns the settings of values.schema.json as JSON, one line for each. */
function settingsBlock(): string {
  const lines = Object.entries(propertiesOf(rows)).map(([flag, property]) =>
    `        ${JSON.stringify(flag)}: ${JSON.stringify(property)}`
  );
  return [
    ...[
      '    "settings": {',
      '      "type": "object",',
      '      "additionalProperties": false,',
      '      "properties": {',
    ],
    ...[lines.join(",\n"), "      }", "    },"],
  ].join("\n");
}

async function schemaText(): Promise<string> {
  return await readFile(schemaFile, "utf8");
}

Deno.test("values.schema.json: has exactly the settings and descriptions of docs/reference/settings.md", async () => {
  const text = await schemaText();
  const wanted = text.replace(/^ {4}"settings": \{\n[\s\S]*?^ {4}\},$/m, settingsBlock);
  if (process.env["GOLDEN"] === "update") await writeFile(schemaFile, wanted);
  equal(await schemaText(), wanted);
  const { properties: { settings } } = JSON.parse(wanted);
  const flags = [...(await readFile(page, "utf8")).matchAll(/^\| `--([a-z-]+)`/gm)].map(([, flag]) => flag);
  ok(flags.length > 40);
  deepEqual(Object.keys(settings.properties), flags);
});

Deno.test("values.yaml: has every value of values.schema.json at the first two levels", async () => {
  const { properties } = JSON.parse(await schemaText());
  const values: Record<string, unknown> = parse(await readFile(new URL("values.yaml", chart), "utf8"));
  const { global: _, ...told } = properties;
  deepEqual(Object.keys(values), Object.keys(told));
  for (const [name, schema] of Object.entries(told) as [string, { properties?: object }][]) {
    if (name === "settings" || schema.properties === undefined) continue;
    deepEqual(Object.keys(values[name] as object), Object.keys(schema.properties), name);
  }
});

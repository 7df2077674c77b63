import { equal, ok } from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { helpTables, helpText } from "../../../workers/settings_of_process.ts";

const page = new URL("../../../docs/reference/settings.md", import.meta.url);

Deno.test("docs/reference/settings.md: has the tables that the schema generates", async () => {
  const [intro = ""] = (await readFile(page, "utf8")).split(/^## /m);
  const wanted = intro + helpTables();
  if (process.env["GOLDEN"] === "update") await writeFile(page, wanted);
  equal(await readFile(page, "utf8"), wanted);
});

Deno.test("--help: lists every setting of docs/reference/settings.md", () => {
  const flags = [...helpTables().matchAll(/^\| `(--[a-z-]+)`/gm)].map(([, flag]) => flag);
  ok(flags.length > 40);
  for (const flag of flags) ok(new RegExp(`^  ${flag}( |$)`, "m").test(helpText()), flag);
});

import { deepEqual } from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { recordsFolder, recordsOf } from "../../../../deploy/release/recorded.ts";

Deno.test("recordsOf: returns the records of one version, oldest first", async () => {
  deepEqual(existsSync(recordsFolder), true);
  for (const name of readdirSync(recordsFolder)) {
    const [, version = ""] = /^(\d+\.\d+\.\d+)(?:-\d+)?\.yaml$/.exec(name) ?? [];
    const records = await recordsOf(version);
    deepEqual(records, records.map((_, at) => at === 0 ? `${version}.yaml` : `${version}-${at + 1}.yaml`), name);
  }
  deepEqual(await recordsOf("0.0.0"), []);
});

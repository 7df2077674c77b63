import { deepEqual } from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { recordsFolder, recordsOf } from "../../../../deploy/release/recorded.ts";

Deno.test("records of a version are told in the order in which they were made, and those of others are left alone", async () => {
  deepEqual(existsSync(recordsFolder), true);
  for (const name of readdirSync(recordsFolder)) {
    const [, version = ""] = /^(\d+\.\d+\.\d+)(?:-\d+)?\.yaml$/.exec(name) ?? [];
    const records = await recordsOf(version);
    deepEqual(records, records.map((_, at) => at === 0 ? `${version}.yaml` : `${version}-${at + 1}.yaml`), name);
  }
  deepEqual(await recordsOf("0.0.0"), []);
});

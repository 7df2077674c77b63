import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { auditArgs, auditLogPath } from "../../../../deploy/local/stack/api_server.ts";
import { scratchDirectory } from "../../../support/scratch_directory.ts";

interface Policy {
  rules: { level: string; userGroups?: string[] }[];
}

Deno.test("auditArgs: logs the requests of booting machines without their content", async () => {
  await using scratch = await scratchDirectory();
  const directory = join(scratch.path, "not-there-yet");
  const [policyFlag = "", logFlag] = await auditArgs(directory);
  const [name, path = ""] = policyFlag.split("=");
  assert.equal(name, "--audit-policy-file");
  assert.equal(logFlag, `--audit-log-path=${auditLogPath(directory)}`);
  const { rules: [machines, others] } = JSON.parse(await readFile(path, "utf8")) as Policy;
  assert.equal(machines?.level, "Metadata");
  assert.ok(machines.userGroups?.includes("system:serviceaccounts:cloud-init-settings"));
  assert.deepEqual(others, { level: "None" });
});

Deno.test("auditArgs: also logs the requests of named users, and of no other user", async () => {
  await using scratch = await scratchDirectory();
  const [flag = ""] = await auditArgs(scratch.path, ["system:serviceaccount:a:b"]);
  const { rules } = JSON.parse(await readFile(flag.split("=")[1] ?? "", "utf8")) as { rules: object[] };
  assert.deepEqual(rules.slice(1), [{ level: "Metadata", users: ["system:serviceaccount:a:b"] }, { level: "None" }]);
});

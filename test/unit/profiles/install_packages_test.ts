import assert from "node:assert/strict";
import { BootSandbox, type Ending } from "../../support/boot_sandbox.ts";
import { renderFacts } from "../../support/render_facts.ts";

/** Runs install-packages on a fake Debian without the packages of a node; `aptGet` is the shell code of its apt-get. */
async function install(aptGet: string): Promise<{ ending: Ending; calls: string[] }> {
  const facts = renderFacts({ provider: { operatingSystem: "debian" } });
  await using sandbox = await BootSandbox.create("osp-debian", "provisioning", facts);
  await sandbox.command("dpkg-query", "exit 1");
  await sandbox.command(
    "apt-get",
    `while [[ $1 == -* ]]; do [[ $1 == -o ]] && shift; shift; done
echo "$1" >>"$SANDBOX/calls"
${aptGet}`,
  );
  const ending = await sandbox.run("/opt/bin/install-packages");
  return { ending, calls: (await sandbox.read("/calls") ?? "").trim().split("\n") };
}

Deno.test("install-packages: updates the package lists before it installs missing packages", async () => {
  const { ending, calls } = await install(`echo "W: a warning" >&2`);
  assert.equal(ending.code, 0, ending.stderr);
  assert.deepEqual(calls, ["update", "install"]);
});

Deno.test("install-packages: reports the first error of apt-get in its last line, after the whole output of apt-get", async () => {
  const { ending } = await install(
    `[[ $1 == update ]] || { echo "W: x
E: Unable to locate package no-such
E: Other" >&2; exit 100; }`,
  );
  assert.equal(ending.code, 1);
  assert.deepEqual(ending.stderr.trim().split("\n"), [
    ...["W: x", "E: Unable to locate package no-such", "E: Other"],
    "Cannot install packages: apt-get install: E: Unable to locate package no-such",
  ]);
});

Deno.test("install-packages: installs nothing when apt-get update fails", async () => {
  const { ending, calls } = await install(`echo "E: Failed to fetch http://mirror.example/InRelease" >&2; exit 100`);
  assert.match(ending.stderr, /apt-get update: E: Failed to fetch http:\/\/mirror\.example\/InRelease\n$/);
  assert.deepEqual([ending.code, calls], [1, ["update"]]);
});

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { settingRows } from "../../../profiles/mod.ts";
import { NodeSettings } from "../../../profiles/node_settings.ts";
import { deploymentYaml, FakeTerminal, profileYaml } from "../../support/fake_terminal.ts";

Deno.test("ostler --help: lists the commands; after a command it lists the flags of the command and every setting", async () => {
  using terminal = new FakeTerminal();
  const { code, out } = await terminal.run(["--help"]);
  assert.equal(code, 0);
  for (const command of ["render", "validate", "diff"]) assert.match(out, new RegExp(`^  ${command} `, "m"));
  const help = await terminal.run(["render", "--help"]);
  assert.equal(help.code, 0);
  assert.match(help.out, /^ +--out <folder>/m);
  for (const { flag } of settingRows(NodeSettings)) assert.ok(help.out.includes(`\n  --${flag}`), flag);
});

Deno.test("ostler --version: prints one line", async () => {
  using terminal = new FakeTerminal();
  const { code, out } = await terminal.run(["--version"]);
  assert.equal(code, 0);
  assert.match(out, /^\d+\.\d+\.\d+\n$/);
});

Deno.test("ostler: exits with 2 for unknown commands and flags", async () => {
  using terminal = new FakeTerminal();
  for (
    const args of [[], ["rendr"], ["--bogus"], ["render", "--output", "xml", "a", "b"], [
      "validate",
      "osp-ubuntu",
      "--cluster-dns=192.0.2.1",
    ]]
  ) {
    const { code, out, err } = await terminal.run(args);
    assert.deepEqual([code, out], [2, ""], args.join(" "));
    assert.notEqual(err, "");
  }
});

Deno.test("ostler: reads profile and MachineDeployment from one stream", async () => {
  const main = fileURLToPath(new URL("../../../cli/main.ts", import.meta.url));
  const args = [
    "run",
    "--no-prompt",
    "--node-modules-dir=manual",
    "--allow-read",
    "--allow-env",
    "--allow-sys",
    "--allow-run",
    main,
    "render",
    "-",
    "-",
  ];
  const child = new Deno.Command(Deno.execPath(), { args, stdin: "piped", stdout: "piped", stderr: "piped" }).spawn();
  await new Blob([profileYaml(), "---\n", deploymentYaml()]).stream().pipeTo(child.stdin);
  const { code, stdout, stderr } = await child.output();
  assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
  assert.match(new TextDecoder().decode(stdout), /^profile +osp-acme v1\.0\.0$/m);
});

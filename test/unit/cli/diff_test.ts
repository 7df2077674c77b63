import assert from "node:assert/strict";
import { deploymentYaml, FakeTerminal, profileYaml } from "../../support/fake_terminal.ts";

const files = { "a.yaml": profileYaml(), "md.yaml": deploymentYaml() };

Deno.test("ostler diff: shows a unified diff per file, new and removed files, and both digests", async () => {
  using terminal = new FakeTerminal(files);
  terminal.write(
    "b.yaml",
    profileYaml({ version: "v1.1.0", data: "hello <%= it.name %>" }).replace("/opt/bin/hello", "/opt/bin/bye"),
  );
  const { code, out, err } = await terminal.run(["diff", "a.yaml", "b.yaml", "md.yaml"]);
  assert.equal(err, "");
  assert.equal(code, 1);
  assert.match(out, /^before osp-acme v1\.0\.0, digest [0-9a-f]{64}\nafter +osp-acme v1\.1\.0, digest [0-9a-f]{64}\n/);
  assert.match(out, /^3 changed: 1 in bootstrap, 2 in provisioning$/m);
  const motd = ["--- a/bootstrap/etc/motd", "+++ b/bootstrap/etc/motd", "@@ -1,1 +1,1 @@", "-pool pool", "+hello pool"];
  assert.ok(out.includes(`\n=== bootstrap /etc/motd: changed\n${motd.join("\n")}\n`), out);
  assert.ok(out.includes("\n=== provisioning /opt/bin/bye: added, mode 0755\n--- /dev/null\n"), out);
  assert.ok(
    out.includes("\n=== provisioning /opt/bin/hello: removed\n--- a/provisioning/opt/bin/hello\n+++ /dev/null\n"),
    out,
  );
});

Deno.test("ostler diff: exits with 0 and one line when nothing would change", async () => {
  using terminal = new FakeTerminal(files);
  const { code, out } = await terminal.run(["diff", "a.yaml", "md.yaml"]);
  assert.equal(code, 0);
  assert.match(out, /^no difference: osp-acme v1\.0\.0, digest [0-9a-f]{64}\n$/);
});

Deno.test("ostler diff: applies --set only to the second side", async () => {
  using terminal = new FakeTerminal(files);
  const set = ["--set", "node-http-proxy=http://b:1"];
  const { code, out } = await terminal.run(["diff", "a.yaml", "md.yaml", "--node-http-proxy", "http://a:1", ...set]);
  assert.equal(code, 1);
  assert.match(out, /^-echo http:\/\/a:1\n\+echo http:\/\/b:1$/m);
  const wrong = await terminal.run(["diff", "a.yaml", "md.yaml", "--set", "node-htp-proxy=x"]);
  assert.equal(wrong.code, 2);
  assert.equal(
    wrong.err,
    `Failed to use --set "node-htp-proxy=x": expected FLAG=VALUE with the flag of a machine setting\n`,
  );
});

Deno.test("ostler diff: shows a changed mode and changed commands, also as JSON", async () => {
  using terminal = new FakeTerminal(files);
  const more = "    modules: { runcmd: [reboot] }\n";
  terminal.write("b.yaml", profileYaml({ more }).replace("permissions: 755", "permissions: 700"));
  const { out } = await terminal.run(["diff", "a.yaml", "b.yaml", "md.yaml"]);
  assert.ok(out.includes("\n=== provisioning /opt/bin/hello: changed, mode 0755 → 0700\n"), out);
  assert.match(out, /^=== provisioning settings\.yaml: added\n/m);
  assert.match(out, /^\+ {4}- reboot$/m);
  const json = JSON.parse((await terminal.run(["diff", "a.yaml", "b.yaml", "md.yaml", "-o", "json"])).out);
  assert.deepEqual(json.changes[0], {
    ...{ phase: "provisioning", path: "/opt/bin/hello", change: "changed", patch: "" },
    mode: { before: "0755", after: "0700" },
  });
  assert.notEqual(json.before.digest, json.after.digest);
});

Deno.test("ostler diff: uses color only on a terminal", async () => {
  using terminal = new FakeTerminal(files);
  const args = ["diff", "a.yaml", "md.yaml", "--set", "node-http-proxy=http://b:1"];
  const watched = await terminal.run(args, { isWatched: true });
  assert.ok(watched.out.includes("\x1b[32m+echo http://b:1\x1b[39m"), JSON.stringify(watched.out));
  assert.equal((await terminal.run(args, { isWatched: true, env: { NO_COLOR: "1" } })).out.includes("\x1b"), false);
  assert.equal((await terminal.run(args)).out.includes("\x1b"), false);
});

Deno.test("ostler diff: exits with 2 when it cannot read its input", async () => {
  using terminal = new FakeTerminal(files);
  assert.equal((await terminal.run(["diff", "a.yaml"])).code, 2);
  assert.equal((await terminal.run(["diff", "a.yaml", "nope.yaml", "md.yaml"])).code, 2);
});

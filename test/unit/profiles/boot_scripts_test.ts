import assert from "node:assert/strict";
import { BootSandbox } from "../../support/boot_sandbox.ts";
import { type FactOverrides, renderFacts } from "../../support/render_facts.ts";
import { SecretsApi } from "../../support/secrets_api.ts";

const secretName = "pool-kube-system-provisioning-config";
const target = "/etc/target";

function factsOf(api: SecretsApi, more: FactOverrides = {}): ReturnType<typeof renderFacts> {
  return renderFacts({
    cluster: { apiServer: api.url, caPem: api.caPem },
    secrets: { token: api.token },
    ...more,
  });
}

async function ubuntu(api: SecretsApi): Promise<BootSandbox> {
  return await BootSandbox.create("osp-ubuntu", "bootstrap", factsOf(api));
}

Deno.test("fetch-secret: writes only the requested key, readable only for root", async () => {
  await using api = await SecretsApi.start("token-1");
  await using sandbox = await ubuntu(api);
  api.secrets.set("some-secret", { "cloud-config": "#cloud-config\n€ {}\n".replace("€", "e"), other: "x" });
  const { code, stderr } = await sandbox.run(
    "/opt/bin/fetch-secret",
    "some-secret",
    "cloud-config",
    sandbox.root + target,
  );
  assert.equal(code, 0, stderr);
  assert.equal(await sandbox.read(target), "#cloud-config\ne {}\n");
  assert.equal((await Deno.stat(sandbox.root + target)).mode! & 0o777, 0o600);
});

Deno.test("fetch-secret: reports why it failed, and leaves its target unchanged", async () => {
  await using api = await SecretsApi.start("token-1");
  await using stranger = await SecretsApi.start("token-1");
  await using sandbox = await ubuntu(api);
  await sandbox.write(target, "as it was");
  api.secrets.set("empty", { "cloud-config": "" });
  api.secrets.set("other", { other: "x" });
  const fetch = async (name: string): Promise<string> => {
    const { code, stderr } = await sandbox.run("/opt/bin/fetch-secret", name, "cloud-config", sandbox.root + target);
    assert.equal(code, 1, `${name}: ${stderr}`);
    assert.equal(await sandbox.read(target), "as it was", name);
    assert.equal(stderr.includes(api.token), false);
    return stderr;
  };
  assert.match(await fetch("missing"), /^Cannot fetch secret "missing": .*404/);
  assert.match(await fetch("empty"), /key "cloud-config" is missing, empty or there twice/);
  assert.match(await fetch("other"), /key "cloud-config" is missing, empty or there twice/);
  await sandbox.write("/etc/ostler/token", "another");
  assert.match(await fetch("empty"), /401/);
  await sandbox.write("/etc/ostler/token", api.token);
  await sandbox.write("/etc/ostler/ca.crt", stranger.caPem);
  assert.match(await fetch("empty"), /SSL certificate problem/);
});

Deno.test("boot scripts: pass the token to curl without showing it on a command line", async () => {
  await using api = await SecretsApi.start("token-1");
  await using sandbox = await ubuntu(api);
  await sandbox.command("curl", `printf '%s\\n' "$@" >"$SANDBOX/arguments"`);
  await sandbox.run("/opt/bin/kube-api", "secrets/x");
  const words = await sandbox.read("/arguments") ?? "";
  assert.match(words, /--header\n@\/dev\/fd\/\d+\n/);
  assert.equal(words.includes(api.token), false);
});

Deno.test("phase one: fetches and applies the provisioning config and reports each step", async () => {
  await using api = await SecretsApi.start("token-1");
  await using sandbox = await ubuntu(api);
  api.secrets.set(secretName, { "cloud-config": "#cloud-config\nwrite_files: []\n" });
  api.refusals.push(404, 503);
  await sandbox.command("sleep", `echo "$1" >>"$SANDBOX/pauses"`);
  await sandbox.command("systemctl", `echo "$*" >>"$SANDBOX/systemctl"`);
  await sandbox.command(
    "cloud-init",
    [
      `if [[ $* == "single --help" ]]; then echo "[--file FILES]"; exit; fi`,
      `[[ $1 == single && $2 == --file ]] && cp "$3" "$SANDBOX/applied"`,
      `mkdir -p "$SANDBOX/opt/bin" "$SANDBOX/etc/ostler"`,
      `install -m 755 /dev/null "$SANDBOX/opt/bin/setup" && echo x >"$SANDBOX/etc/ostler/setup.env"`,
    ].join("\n"),
  );
  const { code, stdout, stderr } = await sandbox.run("/opt/bin/run-phase", `${sandbox.root}/opt/bin/bootstrap`);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(await sandbox.read("/applied"), "#cloud-config\nwrite_files: []\n");
  assert.equal(await sandbox.read("/run/ostler/provisioning"), undefined);
  assert.equal(await sandbox.read("/etc/ostler/bootstrap-complete"), "");
  assert.match(
    await sandbox.read("/systemctl") ?? "",
    /daemon-reload\nenable setup.service\nstart --no-block setup.service\n$/,
  );
  const said = (status: number, nth: number): string =>
    `Cannot fetch secret ${secretName}: ${status} (exit code 1, try ${nth} of 30)`;
  const told = api.reports.map(([machine, line]) => `${machine} ${line?.state} ${line?.step} ${line?.message}`.trim());
  assert.deepEqual(told.map((text) => text.replace(/curl:.*?(\d{3}) \(/, "$1 (")), [
    "machine-1 Running fetch the provisioning config",
    `machine-1 Failed fetch the provisioning config ${said(404, 1)}`,
    `machine-1 Running fetch the provisioning config before that, ${said(404, 1)}`,
    `machine-1 Failed fetch the provisioning config ${said(503, 2)}`,
    `machine-1 Running fetch the provisioning config before that, ${said(503, 2)}`,
    `machine-1 Running apply the provisioning config before that, ${said(503, 2)}`,
    "machine-1 Done apply the provisioning config",
  ]);
  const times = api.reports.map(([, line]) => line?.at ?? "");
  for (const time of times) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
});

Deno.test("phase one: on Flatcar writes the config to the path that Ignition reads on its second run, and reboots", async () => {
  for (const oem of ["/oem", "/usr/share/oem"]) {
    await using api = await SecretsApi.start("token-1");
    const provider = { operatingSystem: "flatcar", operatingSystemSpec: {}, cloudProvider: "openstack" };
    await using sandbox = await BootSandbox.create("osp-flatcar", "bootstrap", factsOf(api, { provider }));
    const config = `{"ignition":{"version":"2.3.0"}}`;
    api.secrets.set(secretName, { "cloud-config": config });
    await sandbox.command("systemctl", `echo "$*" >>"$SANDBOX/systemctl"`);
    for (const path of ["/boot/flatcar/x", `${oem}/x`, "/etc/machine-id"]) await sandbox.write(path, "");
    const { code, stdout, stderr } = await sandbox.run("/opt/bin/bootstrap");
    assert.equal(code, 0, stdout + stderr);
    assert.equal(await sandbox.read(`${oem}/config.ign`), config);
    assert.equal(await sandbox.read("/boot/flatcar/first_boot"), "");
    assert.equal(await sandbox.read("/etc/machine-id"), undefined);
    assert.equal(await sandbox.read("/systemctl"), "reboot\n");
  }
});

Deno.test("run-phase: gives up after a bounded number of growing pauses", async () => {
  await using api = await SecretsApi.start("token-1");
  await using sandbox = await ubuntu(api);
  await sandbox.command("sleep", `echo "$1" >>"$SANDBOX/pauses"`);
  await sandbox.write("/opt/bin/boot-report", `#!/usr/bin/env bash\necho "$*" >>"$SANDBOX/told"\n`);
  await sandbox.command("fails", `echo "no luck" >&2; exit 7`);
  const { code, stderr } = await sandbox.run("/opt/bin/run-phase", `${sandbox.root}/commands/fails`);
  assert.equal(code, 1);
  assert.match(stderr, /fails gave up; to try again: systemctl restart fails\.service\n/);
  const pauses = (await sandbox.read("/pauses") ?? "").trim().split("\n").map(Number);
  assert.equal(pauses.length, 29);
  for (const [index, pause] of pauses.entries()) {
    const least = index < 5 ? 2 ** (index + 1) : 60;
    assert.ok(pause >= least && pause < 2 * least, `pause ${index + 1} is ${pause}`);
  }
  const told = (await sandbox.read("/told") ?? "").trim().split("\n");
  assert.equal(told.length, 30);
  assert.equal(told[29], "fails Failed no luck (exit code 7, try 30 of 30)");
});

Deno.test("boot-report: sends valid JSON without credentials of a proxy, and removes the machine's key when the setup is done", async () => {
  await using api = await SecretsApi.start("token-1");
  await using sandbox = await ubuntu(api);
  await sandbox.run("/opt/bin/boot-report", "setup", "Running", `say "a\\b"`);
  await sandbox.run(
    "/opt/bin/boot-report",
    "setup",
    "Failed",
    `proxy http://user:pa$$@proxy:1 – \t"no" ${"x".repeat(500)} the reason`,
  );
  await sandbox.run("/opt/bin/boot-report", "setup", "Done");
  const [, [, failed], last] = api.reports as [unknown, [string, { step: string; message: string }], unknown];
  assert.equal(failed.step, "say ab");
  assert.match(failed.message, /^proxy http:\/\/proxy:1 {2}no x+ \.\.\. x+ the reason$/);
  assert.equal(failed.message.length, 300);
  assert.deepEqual(last, ["machine-1", null]);
});

Deno.test("boot-report: reports the failure of the last attempt, without tokens, until a phase is complete", async () => {
  await using api = await SecretsApi.start("token-1");
  await using sandbox = await ubuntu(api);
  const report = (...said: string[]): Promise<unknown> => sandbox.run("/opt/bin/boot-report", "bootstrap", ...said);
  await report("Failed", "no luck with eyJhbGciOi.eyJpc3Mi-_x.c2ln, abcdef.0123456789abcdef and v1.36.1");
  await report("Running", "a step");
  await report("Done");
  await report("Running", "another");
  const why = "no luck with (hidden), (hidden) and v1.36.1";
  assert.deepEqual(api.reports.map(([, line]) => line?.message), [why, `before that, ${why}`, "", ""]);
});

Deno.test("boot-report: exits with 0 even when the API server refuses the report or is unreachable", async () => {
  const api = await SecretsApi.start("token-1");
  await using sandbox = await ubuntu(api);
  await sandbox.write("/etc/ostler/token", "refused");
  const refused = await sandbox.run("/opt/bin/boot-report", "setup", "Running", "x");
  await api[Symbol.asyncDispose]();
  await Deno.remove(`${sandbox.root}/etc/machine-name`);
  const alone = await sandbox.run("/opt/bin/boot-report", "setup", "Failed", "y");
  for (const { code, stdout } of [refused, alone]) {
    assert.equal(code, 0);
    assert.match(stdout, /The boot report was not sent\n$/);
  }
});

import assert from "node:assert/strict";
import process from "node:process";
import {
  checkCloudConfig,
  checkScript,
  checkUnits,
  isInstalled,
  isShellScript,
  outsideValidators,
} from "../../../cli/outside_validators.ts";

const path = process.env["PATH"] ?? "";
const there = await Promise.all(outsideValidators.map((name) => isInstalled(name, path)));
const has = Object.fromEntries(outsideValidators.map((name, index) => [name, there[index] === true]));

Deno.test("isInstalled: returns false for a program that the given PATH does not have", async () => {
  assert.equal(await isInstalled("shellcheck", "/nowhere:"), false);
});

Deno.test("isShellScript: recognizes shells by the first line", () => {
  for (const line of ["#!/bin/sh", "#!/usr/bin/env bash", "#! /bin/bash -x", "#!/bin/dash"]) {
    assert.equal(isShellScript(`${line}\n`), true, line);
  }
  for (const line of ["#!/usr/bin/python3", "#!/bin/zsh", "echo", ""]) {
    assert.equal(isShellScript(`${line}\n`), false, line);
  }
});

Deno.test({
  name: "checkCloudConfig: returns the schema errors of cloud-init",
  ignore: !has["cloud-init"],
  fn: async () => {
    assert.deepEqual(await checkCloudConfig("#cloud-config\nruncmd: [reboot]\n"), []);
    const [finding, ...others] = await checkCloudConfig("#cloud-config\nruncmd: 3\n");
    assert.match(finding?.message ?? "", /^runcmd: 3 is not of type 'array'/);
    assert.deepEqual(others, []);
    const [broken] = await checkCloudConfig("#cloud-config\n: [a\n");
    assert.equal(broken?.message.includes("/tmp"), false, broken?.message);
  },
});

Deno.test({
  name: "checkScript: returns errors and warnings of shellcheck with their lines, and no notes",
  ignore: !has["shellcheck"],
  fn: async () => {
    assert.deepEqual(await checkScript("#!/bin/sh\necho $HOME\n"), []);
    const findings = await checkScript("#!/bin/bash\ncd /a\nif true; then\n");
    assert.ok(findings.some(({ line, severity }) => line === 3 && severity === "error"));
    const [warning] = await checkScript("#!/bin/bash\ncd /a\n");
    assert.deepEqual([warning?.line, warning?.severity], [2, "warning"]);
    assert.match(warning?.message ?? "", /^SC2164: /);
  },
});

Deno.test({
  name: "checkUnits: returns errors of systemd about the units, and not about this machine or missing programs",
  ignore: !has["systemd-analyze"],
  fn: async () => {
    const install = "[Install]\nWantedBy=multi-user.target\n";
    const units = {
      "good.service": `[Unit]\nWants=network-online.target\n[Service]\nExecStart=/opt/bin/not-here-yet\n${install}`,
      "odd.service": `[Service]\nExecStart=/bin/true\nRestat=always\n${install}`,
      "odd.service.d/10-x.conf": "[Service]\nFoo=1\n",
    };
    const findings = await checkUnits(units);
    assert.deepEqual(findings.map(({ unit, line }) => [unit, line]).sort(), [
      ["odd.service", 3],
      ["odd.service.d/10-x.conf", 2],
    ]);
    assert.match(findings.map(({ message }) => message).join(), /Restat/);
    assert.deepEqual(await checkUnits({}), []);
  },
});

// Each validator has to refuse an invalid text and name the position of the fault, because a validator that accepts
// everything proves nothing.
import assert from "node:assert/strict";
import { defaultProfiles } from "../../profiles/mod.ts";
import { checkMachineFiles } from "../../deploy/local/tools/recipes/catalogue.ts";
import { allJudges } from "./all_judges.ts";
import { type Fault, type Judge, tellFaults } from "./judge.ts";
import { cloudInit } from "./judges/cloud_init.ts";
import { runTool } from "./judges/run_tool.ts";
import type { Kind, Piece, Units } from "./piece.ts";

const seenOn = [{ profile: "osp-planted", label: "fake, kubelet 1.36, plain" }];

function piece(kind: Kind, path: string, text: string): Piece {
  return { kind, path, text, seenOn };
}

async function refused(judge: Judge, one: Piece): Promise<string> {
  return tellFaults("osp-planted", await judge.judge([one]));
}

const units: Units = {
  texts: {
    "lost.service": "[Unit]\nDescription=x\n[Service]\nExecStart=/opt/bin/not-there\n",
    "odd.service": "[Service]\nExecStart=/opt/bin/there\nRestartt=always\n",
  },
  programs: ["/opt/bin/there"],
};

const kubelet = (field: string): string =>
  `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${field}\n`;

const planted: [Piece, RegExp][] = [
  [
    piece("cloud-config", "/user-data", "#cloud-config\nwrite_files:\n- path: /x\n  mode: 1\n"),
    /:2: write_files\.0: .*'mode'/,
  ],
  [piece("cloud-config", "/user-data", "#cloud-config\nruncmd:\n- a: b: c\n"), /no YAML/],
  [piece("cloud-config", "/user-data", "#cloud-config\napt_upgrade: true\n"), /apt_upgrade.*(deprecated|DEPRECATED)/i],
  [piece("script", "/opt/bin/x", "#!/bin/sh\nrm -rf $1/x\n"), /:2: SC2086/],
  [piece("script", "/etc/profile.d/x.sh", "[[ -z $HOME ]]\n"), /:1: SC\d+/],
  [piece("units", "/etc/systemd/system/", JSON.stringify(units)), /odd\.service:3: Unknown key .*Restartt/],
  [piece("units", "/etc/systemd/system/", JSON.stringify(units)), /lost\.service: Command \/opt\/bin\/not-there/],
  [piece("containerd-2.2", "/config.toml", "version = 3\nrooot = '/'\n"), /:2: .*rooot/],
  [
    piece(
      "containerd-2.2",
      "/config.toml",
      "version = 3\n[plugins.'io.containerd.cri.v1.images']\nsandbox_image = 'x'\n",
    ),
    /sandbox_image/,
  ],
  [
    piece("containerd-hosts", "/certs.d/x.io/hosts.toml", "[host.'https://x.io']\ncapabilities = ['pul']\n"),
    /capability pul/,
  ],
  [piece("ignition-2.3", "/x", '{"ignition":{"version":"2.3.0"},\n"storage":{"filez":[]}}'), /:2: .*filez/s],
  [
    piece("ignition-3.3", "/x", '{"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"x"}]}}'),
    /:\$\.storage\.files\.0\.path: .*absolute/,
  ],
  [piece("ignition-3.3", "/x", '{"ignition":{"version":"3.3.0"},"storage":{"filez":[]}}'), /filez/],
  [piece("ignition-3.3", "/x", '{"ignition":{"version":"2.3.0"}}'), /version/],
  [piece("toml", "/x.toml", "a = 1\na = 2\n"), /a/],
  [piece("yaml", "/x.yaml", "when: 12:30:45\n"), /parsers read different values/],
  [piece("kubelet-1.33", "/kubelet.conf", kubelet("maxPodz: 1")), /unknown field "maxPodz"/],
  [piece("kubelet-flags", "/kubelet-flags", "--config=/x --node-iq=192.0.2.1"), /unknown flag: --node-iq/],
  [piece("kubelet-1.36", "/kubelet.conf", kubelet("featureGates: {NoSuchGate: true}")), /NoSuchGate/],
  [piece("kubelet-1.36", "/kubelet.conf", kubelet("imageGCLowThresholdPercent: 90")), /imageGCLowThresholdPercent/],
];

for (const judge of allJudges) {
  const lack = await judge.missing();
  // If two validators check the same kind of text, only the first of them has to find the planted faults of that kind.
  const mine = planted.filter(([{ kind }]) => allJudges.find((one) => one.judges(kind)) === judge);
  Deno.test({
    name: `validators: "${judge.promise}" fails for each planted fault${
      lack === undefined ? "" : ` (skipped: ${lack})`
    }`,
    ignore: lack !== undefined,
    async fn(): Promise<void> {
      assert.ok(mine.length > 0, "Nothing is planted for this validator");
      for (const [one, told] of mine) assert.match(await refused(judge, one), told);
    },
  });
}

const lack = await cloudInit.missing();
Deno.test({
  name: `validators: cloud-init's own command agrees with its schema${lack === undefined ? "" : ` (skipped: ${lack})`}`,
  ignore: lack !== undefined,
  async fn(): Promise<void> {
    const file = await Deno.makeTempFile();
    const texts = [
      "#cloud-config\nhostname: x\n",
      "#cloud-config\nwrite_files:\n- path: 7\n",
      "#cloud-config\nruncmd: 1\n",
    ];
    try {
      for (const text of texts) {
        await Deno.writeTextFile(file, text);
        const { code, stdout, stderr } = await runTool("cloud-init", ["schema", "--config-file", file]);
        const faults = await cloudInit.judge([piece("cloud-config", "/user-data", text)]);
        assert.equal(code === 0, faults.length === 0, stderr);
        for (const { message } of faults) {
          assert.ok(`${stdout}${stderr}`.includes(message), `${stderr} lacks ${message}`);
        }
      }
    } finally {
      await Deno.remove(file);
    }
  },
});

Deno.test("validators: the containerd that validates is the one that the profiles install", async () => {
  const [, version] = /containerd\/v2 (v[\d.]+)/.exec(checkMachineFiles.requires.join("\n")) ?? [];
  for (const { metadata: { name }, spec } of await defaultProfiles()) {
    const sources = JSON.stringify([spec.bootstrapConfig, spec.provisioningConfig]);
    assert.ok(sources.includes(`CONTAINERD_VERSION=\\"${version}\\"`), `Expected ${name} to install ${version}`);
  }
});

Deno.test("tellFaults: prints a fault of many machines only once, with the number of machines", () => {
  const on = (label: string): Fault => ({
    piece: { ...piece("script", "/x", label), seenOn: [{ profile: "a", label }, { profile: "b", label }] },
    place: 3,
    message: "bad",
  });
  assert.equal(tellFaults("a", [on("aws"), on("gce"), on("aws")]), "/x:3: bad\n    a on aws and 1 more");
});

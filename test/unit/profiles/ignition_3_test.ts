import assert from "node:assert/strict";
import process from "node:process";
import {
  closeTemplateEngines,
  defaultProfiles,
  generateUserData,
  type OsConfig,
  type OsConfigPhase,
  type OsFile,
  type OsProfile,
  type OsUnit,
  parseProfile,
  type Phase,
  ProfileRefused,
  renderConfig,
  resolveProfile,
  userDataFacts,
} from "../../../profiles/mod.ts";
import { asSpec3 } from "../../machines/ignition/as_spec_3.ts";
import { factsFor } from "../../support/default_profile_facts.ts";
import { nastyTexts } from "../../support/nasty_text.ts";

type Version = NonNullable<OsConfig["ignitionVersion"]>;

const seed = Number(process.env["SEED"] ?? 1);
const facts = { name: "pool", distUpgradeOnBoot: false };
const phases: Phase[] = ["bootstrap", "provisioning"];

function file(path: string, data: string, permissions = 644): OsFile {
  return { path, permissions, content: { inline: { data } } };
}

function userData(said: Partial<OsConfigPhase>, version: Version = "3.3.0", phase: Phase = "provisioning"): string {
  const config = { files: [], userSSHKeys: [], ...said };
  const both = { bootstrapConfig: config, provisioningConfig: config };
  const kind = { osName: "flatcar", osVersion: "4230", provisioningUtility: "ignition" } as const;
  const cloudProvider = { name: "openstack", spec: {} };
  return generateUserData({ ...kind, ...both, cloudProvider, ignitionVersion: version }, phase, facts);
}

function refuses(said: Partial<OsConfigPhase>, says: string): void {
  assert.throws(() => userData(said), (error) => {
    assert.ok(error instanceof ProfileRefused, String(error));
    assert.equal(error.reason, "ProfileInvalid");
    assert.ok(error.message.includes(says), `${error.message} lacks ${says}`);
    return true;
  });
}

Deno.test.afterAll(closeTemplateEngines);

Deno.test("ignition3: writes an empty phase with the required fields of 3.3.0", () => {
  assert.equal(userData({}), '{"ignition":{"version":"3.3.0"}}');
});

Deno.test(`ignition3: writes a 3.3.0 config that is equivalent to the 2.3.0 config, for random texts (seed ${seed})`, () => {
  const nasty = nastyTexts(seed, 500);
  const said = {
    files: nasty.map((text) => file(`/${text}`, text)),
    userSSHKeys: nasty.map((text) => `ssh-rsa ${text}x`),
    units: nasty.map((text, at): OsUnit => {
      const content = `[Unit]\nDescription=${text.replaceAll(/[\r\n\\]/g, "")}\n[Install]\nAlias=x\n`;
      return {
        name: `${at}.service`,
        enable: at % 2 === 0,
        mask: at % 3 === 0,
        content,
        dropIns: [{ name: "a.conf", content }],
      };
    }),
  };
  for (const phase of phases) {
    assert.deepEqual(JSON.parse(userData(said, "3.3.0", phase)), asSpec3(userData(said, "2.3.0", phase)));
  }
});

Deno.test("ignition3: leaves the placeholder of the machine's name in a form that machine-controller replaces", () => {
  const content = "[Unit]\nDescription=<MACHINE_NAME> & <b>\n";
  const text = userData({ units: [{ name: "a.service", content }] }, "3.3.0", "bootstrap");
  assert.ok(text.includes(String.raw`Description=<MACHINE_NAME> \u0026 \u003cb\u003e\n`), text);
  assert.ok(
    text.includes('"path":"/etc/machine-name","overwrite":true,"contents":{"source":"data:,%3CMACHINE_NAME%3E"}'),
  );
});

Deno.test("ignition3: keeps the last of two files with the same path, as Ignition 2.3.0 does", () => {
  const { storage } = JSON.parse(userData({ files: [file("/a", "1"), file("/b", "2"), file("/a", "3", 600)] }));
  const entry = (path: string, mode: number, text: string): object => {
    return { path, overwrite: true, contents: { source: `data:,${text}%0A` }, mode };
  };
  assert.deepEqual(storage.files, [entry("/a", 0o600, "3"), entry("/b", 0o644, "2")]);
});

Deno.test("ignition3: refuses what 3.3.0 does not support", () => {
  const a = { name: "a.conf", content: "" };
  refuses({ packages: ["jq"] }, "packages jq");
  for (const permissions of [1755, 2755, 4755]) {
    refuses(
      { files: [file("/f", "x", permissions)] },
      `file "/f": version 3.3.0 has no setuid, setgid and sticky bits`,
    );
  }
  refuses({ units: [{ name: "a.service" }, { name: "a.service" }] }, `unit "a.service": it is defined twice`);
  refuses(
    { units: [{ name: "a.service", dropIns: [a, a] }] },
    `unit "a.service": its drop-in "a.conf" is defined twice`,
  );
});

Deno.test("fault P4: ignition3 refuses a file that has the same path as a unit or a drop-in", () => {
  const at = (path: string) => ({ path, permissions: 644, content: { inline: { data: "x" } } });
  const dropIn = { name: "a.conf", content: "[Unit]" };
  refuses(
    { units: [{ name: "a.service", dropIns: [dropIn] }], files: [at("/etc/systemd/system/a.service.d/a.conf")] },
    `file "/etc/systemd/system/a.service.d/a.conf": a unit or drop-in has the same path`,
  );
  refuses(
    { units: [{ name: "a.service", content: "[Unit]" }], files: [at("/etc/systemd/system/a.service")] },
    `file "/etc/systemd/system/a.service": a unit or drop-in has the same path`,
  );
});

const newer: OsProfile = parseProfile({
  ...{ osName: "flatcar", version: "v1.0.0", provisioningUtility: "ignition", templating: "eta" },
  ...{ ignitionVersion: "3.3.0", extends: { name: "osp-flatcar" } },
});

Deno.test("ignition3: a child of osp-flatcar that sets only ignitionVersion 3.3.0 gives machines an equivalent config", async () => {
  const flatcar = (await defaultProfiles()).find(({ metadata }) => metadata.name === "osp-flatcar")?.spec;
  assert.ok(flatcar);
  const child = await resolveProfile(newer, () => Promise.resolve(flatcar));
  for (const { name } of flatcar.supportedCloudProviders) {
    const known = factsFor(flatcar, name);
    const older = await renderConfig(flatcar, known);
    const config = await renderConfig(child, known);
    assert.deepEqual(config, { ...older, ignitionVersion: "3.3.0" });
    for (const phase of phases) {
      const from = generateUserData(older, phase, userDataFacts(known));
      const to = generateUserData(config, phase, userDataFacts(known));
      assert.deepEqual(JSON.parse(to), asSpec3(from), `${name}, ${phase}`);
      assert.ok(to.length < from.length, "Expected 3.3.0 to fit the same limit of a provider as 2.3.0");
    }
  }
});

Deno.test("ignition3: a child inherits or overrides ignitionVersion; the config omits the default version", async () => {
  const { ignitionVersion: _, ...silent } = newer;
  const parent = { ...newer, supportedCloudProviders: [{ name: "aws" }] };
  const { extends: __, ...old } = parent;
  const of = (child: OsProfile): Promise<OsProfile> => resolveProfile(child, () => Promise.resolve(old));
  assert.equal((await of(silent)).ignitionVersion, "3.3.0");
  const back = await of({ ...newer, ignitionVersion: "2.3.0" });
  assert.equal(back.ignitionVersion, "2.3.0");
  assert.ok(!("ignitionVersion" in await renderConfig(back, factsFor(back, "aws"))));
});

Deno.test("parseProfile: refuses ignitionVersion with another provisioningUtility than ignition, and unsupported versions", () => {
  const profile = { ...newer, extends: { name: "x" } };
  const refused = (said: object, says: RegExp): void =>
    assert.throws(() => parseProfile({ ...profile, ...said }), (error) => says.test(String(error)));
  refused({ provisioningUtility: "cloud-init" }, /ignitionVersion: requires provisioningUtility ignition/);
  refused({ ignitionVersion: "3.4.0" }, /ignitionVersion/);
});

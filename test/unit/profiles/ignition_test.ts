import assert from "node:assert/strict";
import process from "node:process";
import {
  generateUserData,
  type OsConfig,
  type OsConfigPhase,
  type OsFile,
  type OsUnit,
  type Phase,
  ProfileRefused,
} from "../../../profiles/mod.ts";
import { nastyTexts, shown } from "../../support/nasty_text.ts";

interface Ignition {
  passwd: { users?: { name: string; sshAuthorizedKeys: string[] }[] };
  storage: { files?: { path: string; mode: number; contents: { source: string } }[] };
  systemd: { units?: { name: string; contents?: string; dropins?: { name: string; contents?: string }[] }[] };
}

const seed = Number(process.env["SEED"] ?? 1);
const nasty = nastyTexts(seed, 500);
const facts = { name: "pool", distUpgradeOnBoot: false };

function file(path: string, data: string, permissions = 644): OsFile {
  return { path, permissions, content: { inline: { data } } };
}

function configOf(phase: Partial<OsConfigPhase>, provider = "openstack"): OsConfig {
  const config = { files: [], userSSHKeys: [], ...phase };
  return {
    osName: "flatcar",
    osVersion: "4230",
    cloudProvider: { name: provider, spec: {} },
    bootstrapConfig: config,
    provisioningConfig: config,
    provisioningUtility: "ignition",
  };
}

function parse(phase: Partial<OsConfigPhase>, which: Phase = "provisioning"): Ignition {
  return JSON.parse(generateUserData(configOf(phase), which, facts));
}

function refuses(phase: Partial<OsConfigPhase>, says: string): void {
  assert.throws(() => parse(phase), (error) => {
    assert.ok(error instanceof ProfileRefused, String(error));
    assert.equal(error.reason, "ProfileInvalid");
    assert.ok(error.message.includes(says), `${error.message} lacks ${says}`);
    return true;
  });
}

/** Returns a text with exactly one newline at its end, or an empty text if it has only newlines. */
function asLines(text: string): string {
  const rest = text.replace(/\n+$/, "");
  return rest === "" ? "" : `${rest}\n`;
}

Deno.test("ignition: writes an empty phase with the required fields of 2.3.0", () => {
  const least =
    '{"ignition":{"config":{},"security":{"tls":{}},"timeouts":{},"version":"2.3.0"},"networkd":{},"passwd":{},"storage":{},"systemd":{}}';
  assert.equal(generateUserData(configOf({}), "provisioning", facts), least);
  assert.equal(generateUserData(configOf({}, "aws"), "bootstrap", facts), least);
  const name = '{"filesystem":"root","path":"/etc/machine-name","contents":{"source":"data:,%3CMACHINE_NAME%3E",' +
    '"verification":{}},"mode":384}';
  assert.ok(generateUserData(configOf({}), "bootstrap", facts).includes(`"storage":{"files":[${name}]}`));
});

Deno.test(`ignition: keeps files, keys and paths except for final newlines (seed ${seed})`, () => {
  const files = nasty.map((text) => file(`/${text}`, text));
  const { passwd, storage } = parse({ files, userSSHKeys: nasty.map((text) => `ssh-rsa ${text}x`) });
  const read = storage.files?.map(({ path, contents }) => [path, decodeURIComponent(contents.source.slice(6))]);
  read?.forEach((pair, at) => {
    const text = nasty[at] ?? "";
    assert.deepEqual(pair, [`/${text}`, asLines(text)], shown(text));
  });
  assert.equal(read?.length, nasty.length);
  assert.deepEqual(passwd.users?.[0]?.sshAuthorizedKeys, [...new Set(nasty.map((text) => `ssh-rsa ${text}x`))]);
});

Deno.test(`ignition: keeps units and drop-ins except for final newlines (seed ${seed})`, () => {
  const contents = nasty.map((text) => `[Unit]\nDescription=${text.replaceAll(/[\r\n\\]/g, "")}\n`);
  const units = contents.map((content, at): OsUnit => ({
    name: `${nasty[at]?.replaceAll("/", "")}.service`,
    content,
    dropIns: [{ name: "a.conf", content: ` \n  ${content}\n\n` }],
  }));
  for (const [at, unit] of (parse({ units }).systemd.units ?? assert.fail()).entries()) {
    assert.deepEqual([unit.name, unit.contents], [units[at]?.name, contents[at]]);
    assert.deepEqual(unit.dropins, [{ contents: ` \n  ${contents[at]}`, name: "a.conf" }]);
  }
});

Deno.test("ignition: leaves the placeholder of the machine's name for machine-controller, and escapes other text as Go does", () => {
  const content = "[Unit]\nDescription=<MACHINE_NAME> & <b>\u2028\n";
  const phase = { files: [file("/f", "<MACHINE_NAME>")], units: [{ name: "a.service", content }] };
  const bootstrap = generateUserData(configOf(phase), "bootstrap", facts);
  assert.ok(bootstrap.includes(String.raw`Description=<MACHINE_NAME> \u0026 \u003cb\u003e\u2028\n`), bootstrap);
  const named = bootstrap.replaceAll("<MACHINE_NAME>", "m-1").replaceAll("%3CMACHINE_NAME%3E", "m-1");
  const { storage, systemd } = JSON.parse(named) as Ignition;
  assert.equal(systemd.units?.[0]?.contents, content.replace("<MACHINE_NAME>", "m-1"));
  assert.deepEqual(storage.files?.map(({ contents }) => contents.source), ["data:,m-1", "data:,m-1%0A"]);
  // machine-controller replaces nothing in the phase that machines fetch.
  const provisioning = generateUserData(configOf(phase), "provisioning", facts);
  assert.ok(provisioning.includes(String.raw`Description=\u003cMACHINE_NAME\u003e`));
});

Deno.test("ignition: reads permissions as octal digits, with any number of digits", () => {
  const files = [7, 44, 400, 644, 1755, 4755].map((permissions) => file("/f", "x", permissions));
  const modes = parse({ files }).storage.files?.map(({ mode }) => mode);
  assert.deepEqual(modes, [0o7, 0o44, 0o400, 0o644, 0o1755, 0o4755]);
});

Deno.test("ignition: refuses what Ignition would refuse on the machine", () => {
  const unit = (more: Partial<OsUnit>): Partial<OsConfigPhase> => ({ units: [{ name: "a.service", ...more }] });
  refuses({ files: [file("opt/f", "x")] }, `file "opt/f": its path must be absolute`);
  refuses({ packages: ["jq"] }, "packages jq");
  refuses(unit({ name: "a.txt" }), `unit "a.txt": its name must end in a unit type`);
  refuses(unit({ name: "b.d/service" }), "its name must end");
  refuses(unit({ dropIns: [{ name: "a.conf.bak", content: "" }] }), `drop-in "a.conf.bak" must end in .conf`);
  refuses(unit({ dropIns: [{ name: "a.conf", content: "[Service]\nnonsense\n" }] }), "without = in section [Service]");
  refuses(unit({ content: "[Unit\nDescription=x\n" }), "a section header without ]");
  refuses(unit({ content: "[Unit] x\n" }), "text after section header [Unit]");
  refuses(unit({ content: `[Unit]\nDescription=${"é".repeat(1100)}\n` }), "a line of more than 2047 bytes");
  refuses(unit({ enable: true, content: "[Service]\nType=oneshot\n" }), "no option in an [Install] section");
  refuses(
    unit({ enable: true, content: "[Service]\nA=[Install]\n#[Install]\nB=\\\n[Install]\n" }),
    "no option in an [Install] section",
  );
});

Deno.test("ignition: accepts every unit that Ignition accepts", () => {
  const contents = [
    ...["", "\n", "# only a comment", "anything goes before the first section\n[Unit]\n", "[Install]\n"],
    ...["[Unit]\n; a comment\\\nthat goes on\nA=1\n[Install]\nB=2", "  [Install]  \n  A = x=y \\\n  more\n\n"],
    "[Service]\r\nType=oneshot\r\n[Install]\r\nWantedBy=x.target\r\n",
  ];
  for (const content of contents) {
    const units = [{ name: "a.service", enable: true, content }, { name: "b.timer", mask: true, content }];
    assert.equal(parse({ units }).systemd.units?.[0]?.contents ?? "", asLines(content), shown(content));
  }
});

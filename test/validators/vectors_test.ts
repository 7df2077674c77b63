// The outputs of Operating System Manager and of Ostler for the recorded cases, validated with external tools.
import assert from "node:assert/strict";
import { loadYaml } from "@kubernetes/client-node";
import { machineFiles } from "../../cli/machine_files.ts";
import {
  closeTemplateEngines,
  generateUserData,
  type OsConfig,
  type Phase,
  renderConfig,
  userDataFacts,
} from "../../profiles/mod.ts";
import {
  expectedConfig,
  expectedText,
  factsOf,
  type OsmCase,
  osmCase,
  osmCaseNames,
  profileOf,
} from "../support/osm_vectors.ts";
import { allJudges } from "./all_judges.ts";
import type { Fault } from "./judge.ts";
import type { Machine } from "./matrix.ts";
import { type Kind, piecesOf } from "./piece.ts";

/**
 * Kinds of texts that Operating System Manager and Ostler generate. Texts of all other kinds are copied from the
 * recorded profiles, which are artificial, so they are not validated.
 */
const kinds: Kind[] = ["cloud-config", "containerd-2.2", "containerd-hosts", "ignition-2.3"];

/** Expected findings by case, caused by the case's own profile or MachineDeployment. */
const saidByCase: Record<string, RegExp> = {
  "gen-files": /^write_files\.22\.encoding: 'B64' is not one of/,
  "gen-modules":
    /^yum_repos\.(arepo: 'baseurl' is a required|empty: (None is not|'baseurl' is a required)|zrepo\.enabled: 1 is not)/,
  // Debian's cloud-init accepts only a number as an organisation.
  "rhel-satellite": /^rh_subscription\.org: 'org' is not of type 'integer'/,
  "crt-creds-docker": /deprecated|not supported with transfer service/,
  "crt-creds-opaque": /deprecated|not supported with transfer service/,
};

const recorded = osmCaseNames().map(osmCase).filter((one) => expectedText(one, "bootstrap") !== undefined);

function machineOf(label: string, config: OsConfig, userData: Record<Phase, string>): Machine {
  return { profile: "recorded", label, minor: 0, config, files: machineFiles(config), userData };
}

const nothing = { files: [], userSSHKeys: [] };

function original(one: OsmCase): Machine {
  const config = expectedConfig(one)?.spec;
  assert.ok(config, `Expected a config of ${one.name}`);
  // The recorded configs omit empty fields, so these are added.
  const bootstrapConfig = { ...nothing, ...config.bootstrapConfig };
  const provisioningConfig = { ...nothing, ...config.provisioningConfig };
  const text = (phase: Phase): string => expectedText(one, phase) ?? "";
  return machineOf(one.name, { ...config, bootstrapConfig, provisioningConfig }, {
    bootstrap: text("bootstrap"),
    provisioning: text("provisioning"),
  });
}

async function ours(one: OsmCase): Promise<Machine> {
  const facts = factsOf(one);
  const config = await renderConfig(profileOf(one), facts);
  const text = (phase: Phase): string => generateUserData(config, phase, userDataFacts(facts));
  return machineOf(one.name, config, { bootstrap: text("bootstrap"), provisioning: text("provisioning") });
}

async function faultsOf(machines: readonly Machine[]): Promise<Fault[]> {
  const pieces = piecesOf(machines).filter(({ kind }) => kinds.includes(kind));
  const faults = await Promise.all(judges.map((judge) => judge.judge(pieces.filter(({ kind }) => judge.judges(kind)))));
  return faults.flat().filter((fault) => !isSaid(fault));
}

function isSaid({ piece, message }: Fault): boolean {
  return piece.seenOn.every(({ label }) => saidByCase[label]?.test(message));
}

/** Returns the cases for which differences.yaml lists a difference between Ostler and Operating System Manager. */
function mended(): string[] {
  const text = Deno.readTextFileSync(new URL("../golden/osm/differences.yaml", import.meta.url));
  const differences = loadYaml<Record<string, { cases: string | string[] }>>(text);
  return Object.values(differences).flatMap(({ cases }) => cases);
}

function casesOf(faults: readonly Fault[]): string[] {
  return [...new Set(faults.flatMap(({ piece }) => piece.seenOn.map(({ label }) => label)))].sort();
}

const judges = allJudges.filter(({ judges }) => kinds.some(judges));
const lacks = (await Promise.all(judges.map((judge) => judge.missing()))).filter((lack) => lack !== undefined);
const test = (name: string, fn: () => Promise<void>): void =>
  Deno.test({ name: lacks.length > 0 ? `${name} (skipped: ${lacks[0]})` : name, ignore: lacks.length > 0, fn });

Deno.test.afterAll(closeTemplateEngines);

test("recorded cases: external tools accept what Ostler writes", async () => {
  const machines: Machine[] = [];
  for (const one of recorded) machines.push(await ours(one));
  const faults = await faultsOf(machines);
  const told = faults.map(({ piece, place, message }) =>
    `${piece.seenOn.map(({ label }) => label)} ${piece.path}:${place}: ${message}`
  );
  assert.deepEqual(told, []);
});

test("recorded cases: external tools refuse only texts of Operating System Manager that Ostler fixes, as listed in differences.yaml", async () => {
  const refused = casesOf(await faultsOf(recorded.map(original)));
  assert.ok(refused.length > 10, `Refused only ${refused.join(", ")}`);
  assert.deepEqual(refused.filter((name) => !mended().includes(name)), []);
});

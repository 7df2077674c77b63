import assert from "node:assert/strict";
import { loadYaml } from "@kubernetes/client-node";
import {
  closeTemplateEngines,
  configDigest,
  defaultProfiles,
  type OsConfig,
  OsFile,
  type OsProfile,
  parseProfile,
  type ProfileLookup,
  ProfileRefused,
  renderConfig,
  resolveProfile,
} from "../../../profiles/mod.ts";
import { renderFacts } from "../../support/render_facts.ts";

const parent = {
  osName: "rhel",
  osVersion: "9",
  version: "v2.0.0",
  templating: "eta",
  supportedCloudProviders: [{ name: "aws" }, { name: "azure" }],
  bootstrapConfig: {},
  provisioningConfig: {},
};
const child = { extends: { name: "parent" }, osName: "rhel", version: "v1.0.0" };

function file(path: string, data: string): object {
  return { path, content: { inline: { data } } };
}

function changedFiles(before: OsConfig, after: OsConfig): string[] {
  const texts = (config: OsConfig): Map<string, string> =>
    new Map(
      (["bootstrap", "provisioning"] as const).flatMap((phase) =>
        config[`${phase}Config`].files.map(({ path, content }) => [`${phase} ${path}`, content.inline.data] as const)
      ),
    );
  const known = texts(before);
  return [...texts(after)].filter(([place, text]) => known.get(place) !== text).map(([place]) => place);
}

/** Resolves the first of these profiles; its parents are found among the others by their keys. */
async function resolved(specs: Record<string, object>): Promise<OsProfile> {
  const [first] = Object.values(specs);
  const lookup: ProfileLookup = (name) => {
    const spec = specs[name];
    return Promise.resolve(spec && parseProfile(spec));
  };
  return await resolveProfile(parseProfile(first), lookup);
}

async function merged(parents: object, childs: object): Promise<OsProfile["provisioningConfig"]> {
  const profile = await resolved({
    child: { ...child, provisioningConfig: childs },
    parent: { ...parent, provisioningConfig: parents },
  });
  return profile.provisioningConfig;
}

async function refusal(specs: Record<string, object>): Promise<ProfileRefused> {
  const error = await resolved(specs).then(() => undefined, (error) => error);
  assert.ok(error instanceof ProfileRefused, String(error));
  return error;
}

function texts(files: OsFile[] | undefined): string[][] {
  return (files ?? []).map(({ path, content }) => [path, content.inline.data]);
}

const acme = `apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata: { name: osp-acme }
spec:
  extends: { name: osp-ubuntu }
  osName: ubuntu
  version: v1.0.0
  bootstrapConfig: { modules: { runcmd: [update-ca-certificates] }, files: [
    { path: /usr/local/share/ca-certificates/acme.crt, content: { inline: { data: "-----BEGIN CERTIFICATE-----" } } }] }
  provisioningConfig: { packages: [auditd] }`;

Deno.test("resolveProfile: a child of osp-ubuntu adds a CA and a package in ten lines, and follows changes of its parent", async () => {
  assert.equal(acme.split("\n").length, 10);
  const ubuntu = (await defaultProfiles()).find(({ metadata }) => metadata.name === "osp-ubuntu")?.spec;
  assert.ok(ubuntu);
  const profile = parseProfile(loadYaml<{ spec: unknown }>(acme).spec);
  const facts = renderFacts();
  const rendered = async (parent: OsProfile): Promise<OsConfig> =>
    await renderConfig(await resolveProfile(profile, () => Promise.resolve(parent)), facts);
  try {
    const [plain, ours] = [await renderConfig(ubuntu, facts), await rendered(ubuntu)];
    assert.deepEqual(changedFiles(plain, ours), [
      "bootstrap /usr/local/share/ca-certificates/acme.crt",
      "provisioning /opt/bin/install-packages",
    ]);
    const commands = plain.bootstrapConfig.modules?.runcmd ?? [];
    assert.deepEqual(ours.bootstrapConfig.modules?.runcmd, [...commands, "update-ca-certificates"]);
    const files = [...ubuntu.provisioningConfig.files ?? [], OsFile.parse(file("/etc/later", ""))];
    const later = await rendered({ ...ubuntu, provisioningConfig: { ...ubuntu.provisioningConfig, files } });
    assert.deepEqual(changedFiles(ours, later), ["provisioning /etc/later"]);
    assert.notEqual(configDigest(later, facts), configDigest(ours, facts));
  } finally {
    await closeTemplateEngines();
  }
});

Deno.test("resolveProfile: leaves a profile without a parent unchanged", async () => {
  const profile = parseProfile(parent);
  assert.equal(await resolveProfile(profile, () => assert.fail("Expected no lookup")), profile);
});

Deno.test("resolveProfile: takes missing fields from the parent, and keeps the version of the child", async () => {
  const profile = await resolved({ child, parent: { ...parent, parameters: { a: { description: "parent's" } } } });
  assert.deepEqual(profile, { ...parseProfile(parent), version: "v1.0.0", parameters: profile.parameters });
  assert.deepEqual(Object.keys(profile.parameters ?? {}), ["a"]);
  const said = { osVersion: "9.6", supportedCloudProviders: [{ name: "aws" }], templating: "eta" };
  const own = await resolved({ child: { ...child, ...said }, parent });
  assert.deepEqual([own.osVersion, own.supportedCloudProviders], ["9.6", [{ name: "aws" }]]);
});

Deno.test("resolveProfile: replaces parent files of the same path in place, and appends the child's other files", async () => {
  const phase = await merged(
    { files: [file("/a", "parent"), file("/b", "parent")] },
    { files: [file("/c", "child"), { ...file("/a", "child"), permissions: 600 }] },
  );
  assert.deepEqual(texts(phase.files), [["/a", "child"], ["/b", "parent"], ["/c", "child"]]);
  assert.equal(phase.files?.[0]?.permissions, 600);
});

Deno.test("resolveProfile: a child's file replaces the parent's file of the same path, even if only one of them belongs to a container runtime", async () => {
  const runtime = (files: object[], templates: object = {}): object => ({
    supportedContainerRuntimes: [{ name: "containerd", files, templates }],
  });
  const phase = await merged(
    {
      ...runtime([file("/r", "parent"), file("/s", "parent")], { x: "parent", y: "parent" }),
      files: [file("/p", "parent")],
    },
    { ...runtime([file("/p", "child"), file("/t", "child")], { y: "child" }), files: [file("/r", "child")] },
  );
  assert.deepEqual(texts(phase.files), [["/p", "child"]]);
  const [containerd, ...others] = phase.supportedContainerRuntimes ?? [];
  assert.deepEqual(texts(containerd?.files), [["/r", "child"], ["/s", "parent"], ["/t", "child"]]);
  assert.deepEqual(containerd?.templates, { x: "parent", y: "child" });
  assert.deepEqual(others, []);
});

Deno.test("resolveProfile: merges units by name, snippets and repositories by key, and appends commands and packages", async () => {
  const phase = await merged(
    {
      units: [{ name: "a.service", enable: true }, { name: "b.service" }],
      templates: { x: "parent", y: "parent" },
      modules: {
        bootcmd: ["one"],
        runcmd: ["one"],
        yum_repos: { r: { name: "r", enabled: "1" }, s: { name: "s" } },
        yum_repo_dir: "/parent",
      },
      packages: ["jq", "curl"],
    },
    {
      units: [{ name: "a.service", mask: true }, { name: "c.service" }],
      templates: { y: "child", z: "child" },
      modules: { runcmd: ["two"], rh_subscription: { org: "1" }, yum_repos: { r: { enabled: "0" } } },
      packages: ["auditd", "jq"],
    },
  );
  assert.deepEqual(phase, {
    units: [{ name: "a.service", mask: true }, { name: "b.service" }, { name: "c.service" }],
    templates: { x: "parent", y: "child", z: "child" },
    modules: {
      bootcmd: ["one"],
      runcmd: ["one", "two"],
      rh_subscription: { org: "1" },
      yum_repos: { r: { name: "r", enabled: "0" }, s: { name: "s" } },
      yum_repo_dir: "/parent",
    },
    packages: ["jq", "curl", "auditd"],
  });
});

Deno.test("resolveProfile: merges the oldest ancestor first, so that each profile overrides its ancestors", async () => {
  const say = (text: string, more: object = {}): object => ({ files: [file("/a", text)], ...more });
  const profile = await resolved({
    child: { ...child, provisioningConfig: say("child") },
    parent: { ...child, extends: { name: "grandparent" }, provisioningConfig: say("parent", { packages: ["p"] }) },
    grandparent: { ...parent, provisioningConfig: say("grandparent", { packages: ["g"] }) },
  });
  assert.deepEqual(texts(profile.provisioningConfig.files), [["/a", "child"]]);
  assert.deepEqual(profile.provisioningConfig.packages, ["g", "p"]);
});

Deno.test("resolveProfile: refuses a missing parent, and names the parents that lead to it", async () => {
  const missing = await refusal({ child });
  assert.equal(missing.reason, "ProfileMissing");
  assert.equal(missing.message, `Failed to extend profile "parent": it does not exist`);
  const deeper = await refusal({ child, parent: { ...child, extends: { name: "gone" } } });
  assert.equal(deeper.message, `Failed to extend profile "gone": it does not exist (parent → gone)`);
});

Deno.test("resolveProfile: refuses cycles and names them", async () => {
  const circle = { child, parent: { ...child, extends: { name: "other" } }, other: child };
  const { reason, message } = await refusal(circle);
  assert.equal(reason, "ProfileInvalid");
  assert.equal(message, `Failed to extend profile "parent": it extends itself (parent → other → parent)`);
});

Deno.test("resolveProfile: follows five parents and refuses a sixth", async () => {
  const line = (length: number): Record<string, object> =>
    Object.fromEntries(Array.from({ length: length + 1 }, (_, index) => {
      return [`p${index}`, index === length ? parent : { ...child, extends: { name: `p${index + 1}` } }];
    }));
  assert.equal((await resolved(line(5))).osVersion, "9");
  const { message } = await refusal(line(6));
  assert.equal(
    message,
    `Failed to extend profile "p6": a profile can have at most 5 parents (p1 → p2 → p3 → p4 → p5 → p6)`,
  );
});

Deno.test("resolveProfile: refuses a parent with another osName, templating or provisioningUtility", async () => {
  const cases: [object, object, string][] = [
    [{ osName: "ubuntu" }, {}, `its osName is "rhel", but that of its child is "ubuntu"`],
    [{ templating: "go" }, {}, `its templating is "eta", but that of its child is "go"`],
    [
      { osName: "flatcar" },
      { osName: "flatcar", provisioningUtility: "ignition" },
      'its provisioningUtility is "ignition", but that of its child is "cloud-init"; set provisioningUtility to ' +
      '"ignition" in the child',
    ],
  ];
  for (const [childs, parents, says] of cases) {
    const { message } = await refusal({ child: { ...child, ...childs }, parent: { ...parent, ...parents } });
    assert.equal(message, `Failed to extend profile "parent": ${says}`);
  }
});

Deno.test("resolveProfile: names an invalid parent, and rethrows a failure to read the parent", async () => {
  const { message } = await refusal({ child, parent: { ...parent, osName: "plan9" } });
  assert.match(message, /^Failed to extend profile "parent": Invalid profile: osName: /);
  const failing = resolveProfile(parseProfile(child), () => Promise.reject(new Error("no answer")));
  await assert.rejects(failing, /^Error: no answer$/);
});

Deno.test("parseProfile: accepts missing fields only in a profile that extends another", () => {
  assert.throws(() => parseProfile({ osName: "rhel", version: "v1.0.0" }), /osVersion: .*; supportedCloudProviders: /);
  assert.equal(parseProfile(child).templating, undefined);
  assert.throws(() => parseProfile({ ...child, version: undefined }), /version: /);
});

Deno.test("parseProfile: refuses packages for Flatcar, which cannot install packages", () => {
  const flatcar = { ...parent, osName: "flatcar", bootstrapConfig: { packages: ["jq"] } };
  assert.throws(
    () => parseProfile(flatcar),
    /bootstrapConfig.packages: must be empty, because Flatcar cannot install packages/,
  );
});

Deno.test("renderConfig: refuses a child profile whose parents are not merged into it", async () => {
  await assert.rejects(renderConfig(parseProfile(child), renderFacts()), /its parents are not merged in/);
});

Deno.test("resolveProfile: refuses a profile that is too large with its parents, and merges thousands of files fast", async () => {
  const withFiles = (profile: object, files: object[]): OsProfile =>
    parseProfile({ ...profile, bootstrapConfig: { files } });
  const many = Array.from({ length: 12_000 }, (_, n) => file(`/etc/${n}`, ""));
  const started = performance.now();
  const whole = await resolveProfile(withFiles(child, many), () => Promise.resolve(withFiles(parent, many)));
  assert.equal(whole.bootstrapConfig.files?.length, many.length);
  assert.ok(performance.now() - started < 5_000, "Expected no comparison of each file with each");
  const large = (path: string): object[] => [file(path, "x".repeat(1_000_000))];
  await assert.rejects(
    resolveProfile(withFiles(child, large("/a")), () => Promise.resolve(withFiles(parent, large("/b")))),
    { message: 'Failed to extend profile "parent": the profile with all its parents must have at most 1572864 bytes' },
  );
});

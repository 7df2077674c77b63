import assert from "node:assert/strict";
import {
  type OsConfig,
  type OsProfile,
  parseProfile,
  renderConfig,
  specOf,
  type TemplateEngine,
} from "../../../profiles/mod.ts";
import { TemplateFault } from "../../../profiles/engines/template_engine.ts";
import { etaData } from "../../../profiles/eta_input.ts";
import { type FactOverrides, renderFacts, testCa } from "../../support/render_facts.ts";
import { refusalOf, refuses } from "./refuses.ts";

interface Seen {
  path: string;
  permissions?: number;
  content: { inline: { encoding?: string; data: string } };
}

function file(path: string, data = "", more: Partial<Seen> = {}): Seen {
  return { path, content: { inline: { data } }, ...more };
}

function profileOf(phases: object, more: object = {}): OsProfile {
  return parseProfile({
    osName: "ubuntu",
    osVersion: "24.04",
    version: "v1.2.3",
    supportedCloudProviders: [{ name: "kubevirt" }],
    bootstrapConfig: {},
    provisioningConfig: {},
    ...phases,
    ...more,
  });
}

/** A fake engine: the text of each file is its template and the snippets, as JSON. */
const echo: TemplateEngine = {
  render: ({ files, snippets }) => Promise.resolve(files.map((one) => JSON.stringify([one.template, snippets]))),
  close: () => Promise.resolve(),
};

function rendered(profile: OsProfile, overrides: FactOverrides = {}, engine = echo): Promise<OsConfig> {
  return renderConfig(profile, renderFacts(overrides), { go: engine, eta: engine });
}

function pathsOf({ bootstrapConfig, provisioningConfig }: OsConfig): string[][] {
  return [bootstrapConfig, provisioningConfig].map(({ files }) => files.map(({ path }) => path));
}

const hosts = "/etc/containerd/certs.d/docker.io/hosts.toml";

Deno.test("renderConfig: orders files as profile, runtime, hosts.toml; prefers template snippets of the phase to those of the runtime", async () => {
  const provisioningConfig = {
    files: [file("/a", "A")],
    templates: { s: "phase" },
    supportedContainerRuntimes: [
      { name: "docker", files: [file("/dead")] },
      { name: "containerd", files: [file("/b", "B")], templates: { s: "runtime", t: "t" } },
    ],
  };
  const config = await rendered(profileOf({ provisioningConfig }));
  assert.deepEqual(pathsOf(config), [[], ["/a", "/b", hosts]]);
  const texts = config.provisioningConfig.files.map(({ content }) => content.inline.data).slice(0, 2);
  const snippets = { s: "phase", t: "t" };
  assert.deepEqual(texts, [["A", snippets], ["B", snippets]].map((made) => JSON.stringify(made)));
  assert.deepEqual(config.cloudProvider, { name: "kubevirt", spec: {} });
});

Deno.test("renderConfig: leaves units and modules unchanged", async () => {
  const modules = { runcmd: ["echo {{ .Token }}"] };
  const units = [{ name: "a.service", content: "{{ .Token }}" }];
  const { provisioningConfig, bootstrapConfig } = await rendered(
    profileOf({ bootstrapConfig: { modules }, provisioningConfig: { units } }),
  );
  assert.deepEqual(bootstrapConfig.modules, modules);
  assert.deepEqual(provisioningConfig.units, units);
});

Deno.test("renderConfig: uses 644 for missing permissions and drops the default encoding", async () => {
  const coded = { inline: { encoding: "", data: "" } };
  const files = [file("/a", "", { permissions: 0, content: coded }), file("/b", "", { permissions: 4755 }), file("/c")];
  const { bootstrapConfig } = await rendered(profileOf({ bootstrapConfig: { files } }));
  assert.deepEqual(bootstrapConfig.files.map(({ permissions }) => permissions), [644, 4755, 644]);
  assert.equal("encoding" in (bootstrapConfig.files[0]?.content.inline ?? {}), false);
});

Deno.test("renderConfig: writes registry mirrors into the bootstrap config when machines have no second phase", async () => {
  const runtimes = [{ name: "containerd", files: [file("/etc/containerd/config.toml")] }];
  const arrives = async (phases: object, cloudProvider = "kubevirt"): Promise<string> => {
    const [bootstrap = [], provisioning = []] = pathsOf(
      await rendered(profileOf(phases), { provider: { cloudProvider } }),
    );
    assert.equal([...bootstrap, ...provisioning].filter((path) => path === hosts).length, 1);
    return bootstrap.includes(hosts) ? "bootstrap" : "provisioning";
  };
  const withRuntime = { bootstrapConfig: { supportedContainerRuntimes: runtimes } };
  const withFile = { bootstrapConfig: { files: [file("/etc/containerd/config.toml")] } };
  assert.equal(await arrives(withRuntime), "bootstrap");
  assert.equal(await arrives(withFile), "bootstrap");
  assert.equal(
    await arrives({ ...withRuntime, provisioningConfig: { files: [], templates: { a: "b" } } }),
    "bootstrap",
  );
  assert.equal(await arrives({ bootstrapConfig: { files: [file("/setup")] } }, "anexia"), "bootstrap");
  assert.equal(await arrives({ bootstrapConfig: { files: [file("/setup")] } }), "provisioning");
  for (
    const provisioningConfig of [{ files: [file("/x")] }, { modules: { runcmd: ["x"] } }, { units: [{ name: "x" }] }]
  ) {
    assert.equal(await arrives({ ...withRuntime, provisioningConfig }, "anexia"), "provisioning");
  }
});

Deno.test("renderConfig: replaces the RHEL subscription of the profile, in both phases", async () => {
  const profile = profileOf({
    bootstrapConfig: { modules: { runcmd: ["x"], rh_subscription: { replaced: "yes" } } },
  }, { osName: "rhel" });
  const provider = { operatingSystem: "rhel", operatingSystemSpec: { RHELsubscriptionManagerUser: "u" } };
  const { bootstrapConfig, provisioningConfig } = await rendered(profile, { provider });
  const rh_subscription = { username: "u", password: "", "auto-attach": "false" };
  assert.deepEqual(bootstrapConfig.modules, { runcmd: ["x"], rh_subscription });
  assert.deepEqual(provisioningConfig.modules, { rh_subscription });
  assert.equal((await rendered(profileOf({}))).bootstrapConfig.modules, undefined);
});

Deno.test("renderConfig: refuses a static network for all systems except flatcar", async () => {
  for (const network of [{ cidr: "192.0.2.1/24" }, { gateway: "192.0.2.1" }, { dns: { servers: ["192.0.2.1"] } }]) {
    const error = await refusalOf(rendered(profileOf({}), { provider: { network } }));
    assert.equal(error.reason, "ProviderConfigInvalid");
    assert.match(error.message, /"ubuntu" cannot have a static address/);
    await rendered(profileOf({}, { osName: "flatcar" }), { provider: { operatingSystem: "flatcar", network } });
  }
  await rendered(profileOf({}), { provider: { network: { cidr: "", dns: { servers: [] }, ipFamily: "IPv6" } } });
});

Deno.test("renderConfig: refuses a template that fails to render, naming the file", async () => {
  const failing = (fault: TemplateFault): Promise<unknown> =>
    refusalOf(rendered(profileOf({}), {}, { ...echo, render: () => Promise.reject(fault) }));
  const named = await failing(new TemplateFault("line 1: no", "/etc/x")) as Error & { reason: string };
  assert.equal(named.reason, "RenderFailed");
  assert.equal(named.message, `Failed to render file "/etc/x": line 1: no`);
  const unnamed = await failing(new TemplateFault("too long")) as Error;
  assert.equal(unnamed.message, "Failed to render the profile: too long");
});

Deno.test("renderConfig: passes on retryable failures of the engine", async () => {
  const engine: TemplateEngine = { ...echo, render: () => Promise.reject(new Error("no process")) };
  await assert.rejects(rendered(profileOf({}), {}, engine), /^Error: no process$/);
});

Deno.test("renderConfig: refuses facts that could break out of the files of an Eta profile", async () => {
  const bad: [string, FactOverrides][] = [
    ["cluster.apiServer", { cluster: { apiServer: 'https://x"; rm -rf /' } }],
    ["taints", { settings: { initialTaints: "a=b:NoSchedule --evil" } }],
    ["proxy.http", { settings: { nodeHttpProxy: "http://x`id`" } }],
    ["pauseImage", { settings: { pauseImage: 'a"b' } }],
  ];
  for (const [field, overrides] of bad) {
    const error = await refusalOf(rendered(profileOf({}, { templating: "eta" }), overrides));
    assert.equal(error.reason, "RenderFailed");
    assert.ok(error.message.includes(`input: ${field}: `), error.message);
  }
});

Deno.test("specOf: omits empty lists and nothing else", async () => {
  const unit = { name: "a.service", enable: false };
  const profile = profileOf({ bootstrapConfig: { modules: {}, units: [] }, provisioningConfig: { units: [unit] } });
  const spec = specOf(await rendered(profile, { provider: { sshPublicKeys: [] } }));
  assert.deepEqual(spec["bootstrapConfig"], { modules: {} });
  const { files, ...others } = spec["provisioningConfig"] as OsConfig["provisioningConfig"];
  assert.deepEqual([files.length, others], [1, { units: [unit] }]);
});

Deno.test("etaData: returns settings of the operating system under their JSON names, in whatever case they are set", () => {
  const written = { DistUpgradeOnBoot: true, RHELOrganizationName: "a", rhsmofflinetoken: "b", mine: "c" };
  const { osSettings, distUpgradeOnBoot } = etaData(renderFacts({ provider: { operatingSystemSpec: written } }));
  const expected = { distUpgradeOnBoot: true, rhelOrganizationName: "a", rhsmOfflineToken: "b", mine: "c" };
  assert.deepEqual([osSettings, distUpgradeOnBoot], [expected, true]);
});

Deno.test("etaData: refuses operating system settings of a wrong type, as Operating System Manager does", () => {
  const wrong: [string, string][] = [["flatcar", "disableAutoUpdate"], ["debian", "distUpgradeOnBoot"]];
  for (const [operatingSystem, field] of wrong) {
    const provider = { operatingSystem, operatingSystemSpec: { [field]: "true" } };
    refuses(() => etaData(renderFacts({ provider })), "ProviderConfigInvalid", "must be true or false");
  }
  const unset = { operatingSystem: "flatcar", operatingSystemSpec: { disableAutoUpdate: null, mine: 5 } };
  assert.deepEqual(etaData(renderFacts({ provider: unset })).osSettings, {});
});

Deno.test("etaData: takes the certificates of a bundle that has other text around them, as Operating System Manager does", () => {
  const bundle = `##\n## Bundle of CA Root Certificates\n##\n\nOne\n===\n${testCa}\nTwo\n===\n${testCa}# end\n`;
  const certificates = `${testCa}\nTwo\n===\n${testCa}`;
  const given = etaData(renderFacts({ settings: { hostCaBundle: bundle, kubernetesCaBundle: bundle } }));
  assert.deepEqual([given.hostCaPem, given.cluster.caPem], [certificates, certificates]);
  assert.equal(etaData(renderFacts({ cluster: { caPem: bundle } })).cluster.caPem, certificates);
  const { hostCaPem, cluster } = etaData(renderFacts({ settings: { hostCaBundle: `\n${testCa}\n\n${testCa} ` } }));
  assert.deepEqual([hostCaPem, cluster.caPem], [`${testCa}\n\n${testCa}`, testCa]);
});

Deno.test("etaData: accepts a proxy whose login has characters that need no escape in a URL or a shell assignment", () => {
  const nodeHttpProxy = "http://me:pa+ss=w0rd!*,%24@proxy.example:3128";
  assert.equal(etaData(renderFacts({ settings: { nodeHttpProxy } })).proxy.http, nodeHttpProxy);
});

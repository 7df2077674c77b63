/** The config made for every recorded case, and its annotations, equal those of Operating System Manager. */
import assert from "node:assert/strict";
import {
  annotationsHash,
  checkProfileFits,
  closeTemplateEngines,
  hideSecrets,
  type OsConfig,
  ProfileRefused,
  type RefusalReason,
  renderConfig,
  type RenderFacts,
  specOf,
} from "../../profiles/mod.ts";
import { differs, withHubHost } from "../support/osm_differences.ts";
import {
  expectedConfig,
  expectedText,
  factsOf,
  type OsmCase,
  osmCase,
  osmCaseNames,
  profileOf,
  secondInput,
} from "../support/osm_vectors.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const cases = osmCaseNames().map(osmCase);

/** Renders a case, after the checks that Ostler makes before it renders. */
async function configOf(of: OsmCase, change = (facts: RenderFacts): RenderFacts => facts): Promise<OsConfig> {
  const facts = factsOf(of);
  const profile = profileOf(of);
  const { operatingSystem, cloudProvider, operatingSystemSpec } = facts.provider;
  checkProfileFits(profile, { operatingSystem, provider: cloudProvider, operatingSystemSpec });
  return await renderConfig(profile, change(facts));
}

const configs = new Map<OsmCase, Promise<OsConfig>>();

/** Returns the config of a case, which is rendered once. */
function knownConfigOf(of: OsmCase): Promise<OsConfig> {
  const known = configs.get(of) ?? configOf(of);
  configs.set(of, known);
  return known;
}

function annotationsOf(of: OsmCase): Record<string, string> {
  const { annotations = {} } = of.deployment.metadata;
  return {
    "k8c.io/machine-deployment-revision": annotations["machinedeployment.clusters.k8s.io/revision"] ?? "",
    "k8c.io/mdannotations-hash": annotationsHash(annotations),
    "k8c.io/osp-version": profileOf(of).version,
  };
}

/** Returns the spec as Kubernetes would store it, without fields that have no value. */
function stored(spec: unknown): unknown {
  return JSON.parse(JSON.stringify(spec));
}

function hub(spec: unknown): unknown {
  return JSON.parse(JSON.stringify(spec), (_, value) => typeof value === "string" ? withHubHost(value) : value);
}

async function compare(of: OsmCase): Promise<void> {
  const { spec, annotations } = expectedConfig(of) ?? {};
  assert.deepEqual(
    stored(specOf(await knownConfigOf(of))),
    differs("docker-hub-by-its-host", of.name) ? hub(spec) : spec,
  );
  assert.deepEqual(annotationsOf(of), annotations);
}

const recorded = cases.filter((one) => expectedConfig(one) !== undefined);
const rendered = recorded.filter(({ name }) => !differs("relative-path-is-no-profile", name));

for (const one of rendered) {
  Deno.test(`config of ${one.name}: equals the recorded config of Operating System Manager`, () => compare(one));
}

for (const one of rendered) {
  const second = secondInput(one);
  if (second === undefined) continue;
  const isNoticed = !differs("changed-profile-without-version", one.name) &&
    !differs("changed-template-without-revision", one.name);
  if (isNoticed) {
    Deno.test(`config of ${one.name}: equals the recorded config of Operating System Manager after its input changed`, () =>
      compare(second));
    continue;
  }
  Deno.test(`config of ${one.name}: changes with its input, although Operating System Manager keeps the outdated config`, async () => {
    const { spec, annotations } = expectedConfig(second) ?? {};
    assert.notDeepEqual(stored(specOf(await configOf(second))), spec);
    assert.deepEqual(annotationsOf(second), annotations);
  });
}

for (const one of rendered) {
  Deno.test(`config of ${one.name}: has the same files when secrets are hidden, and contains no secret`, async () => {
    const shown = await configOf(one, hideSecrets);
    const real = await knownConfigOf(one);
    for (const phase of ["bootstrapConfig", "provisioningConfig"] as const) {
      const paths = [shown, real].map((config) => config[phase].files.map(({ path }) => path));
      assert.deepEqual(paths[0], paths[1]);
    }
    const text = JSON.stringify(shown);
    for (const secret of secretsOf(factsOf(one))) assert.ok(!text.includes(secret), `${secret} is seen`);
  });
}

function secretsOf({ secrets, provider }: RenderFacts): string[] {
  const [bootstrapToken = ""] = /(?<= token: ).*/.exec(secrets.bootstrapKubeconfig) ?? [];
  const logins = Object.values(secrets.registryAuths).flatMap((auth) => Object.values(auth));
  const spec = { ...provider.cloudProviderSpec as object, ...provider.operatingSystemSpec as object };
  const given = Object.entries(spec).filter(([key]) => /password|secret|token|activationkey|serviceaccount/i.test(key));
  return [secrets.token, secrets.seed, bootstrapToken, ...logins, ...given.map(([, value]) => value)]
    .filter((secret): secret is string => typeof secret === "string" && secret.length > 2)
    .map((secret) => JSON.stringify(secret).slice(1, -1));
}

/**
 * The cases that are refused for another reason than a template error, with the reason and a text that the message must
 * contain.
 */
const refusals: Record<string, [RefusalReason, string]> = {
  "err-config-key": ["ProviderConfigInvalid", "noSuchKey"],
  "err-fake-provider": ["CloudConfigInvalid", '"fake"'],
  "err-gc-age": ["KubeletSettingsInvalid", '"5 minutes"'],
  "err-ign-relative": ["ProfileInvalid", "bootstrapConfig.files.0.path"],
  "err-kubelet-version": ["KubeletVersionInvalid", '"latest"'],
  "err-max-pods": ["KubeletSettingsInvalid", '"many"'],
  "err-max-pods-range": ["KubeletSettingsInvalid", '"3000000000"'],
  "err-os-mismatch": ["OperatingSystemMismatch", '"rhel"'],
  "err-os-unknown": ["OperatingSystemMismatch", '"centos"'],
  "err-provider": ["ProviderUnsupported", '"digitalocean"'],
  "err-provider-spec": ["ProviderConfigInvalid", "sshPublicKeys"],
  "err-static-ubuntu": ["ProviderConfigInvalid", '"ubuntu"'],
  "err-utility-default": ["UtilityMismatch", '"ignition"'],
  "err-utility-flatcar": ["UtilityMismatch", '"ignition"'],
  "err-utility-ignition": ["UtilityMismatch", '"ignition"'],
};

/** These cases are refused where objects are read and written, and not where a config is rendered. */
const elsewhere = ["err-missing-osp", "err-two-tokens"];

for (const one of cases.filter((each) => !rendered.includes(each) && !elsewhere.includes(each.name))) {
  const [reason, says] = refusals[one.name] ?? ["RenderFailed", templateFaultOf(one)];
  Deno.test(`config of ${one.name}: is refused with reason ${reason}`, async () => {
    const error = await configOf(one).then(() => undefined, (error) => error);
    assert.ok(error instanceof ProfileRefused, `${error}`);
    assert.equal(error.reason, reason);
    assert.match(error.message, /^(Failed to|Invalid|Unsupported) /);
    assert.ok(error.message.includes(says), `${error.message} lacks ${says}`);
  });
}

/** Go's own message, from the name of the template on. */
function templateFaultOf(of: OsmCase): string {
  const [fault = "no recorded words"] = /(?<=: )template: .*/.exec(expectedText(of, "error.txt") ?? "") ?? [];
  return fault;
}

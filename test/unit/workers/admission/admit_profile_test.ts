import { randomBytes } from "node:crypto";
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { RunawayFault, TemplateFault } from "../../../../profiles/engines/template_engine.ts";
import { closeTemplateEngines, type TemplateEngine, type TemplateEngines } from "../../../../profiles/mod.ts";
import type { AdmissionRequest, KubeObject, Verdict } from "../../../../workers/admission/admission_review.ts";
import { admitProfile } from "../../../../workers/admission/admit_profile.ts";
import { file, profile, request } from "./review_objects.ts";

const trusted = "system:serviceaccount:ostler-system:ostler-controller";

interface Scene {
  engine?: TemplateEngine;
  profiles?: Record<string, KubeObject>;
}

/** Returns templates unchanged, unless they contain a word that makes them fail. */
const echo: TemplateEngine = {
  render: async ({ files }) => {
    await Promise.resolve();
    return files.map(({ path, template }) => {
      const [fault] = /FAULT.*/.exec(template) ?? [];
      if (fault) throw new TemplateFault(fault, path);
      return template;
    });
  },
  close: () => Promise.resolve(),
};

async function judge(asked: AdmissionRequest, { engine = echo, profiles = {} }: Scene = {}): Promise<Verdict> {
  const engines: TemplateEngines = { go: engine, eta: engine };
  const specOf = ({ namespace, name }: { namespace: string; name: string }): Promise<unknown> =>
    Promise.resolve(namespace === "kube-system" ? profiles[name]?.spec : undefined);
  const admit = admitProfile({ specOf, trustedUsers: [trusted], engines });
  return await admit(asked, new AbortController().signal);
}

async function denial(asked: AdmissionRequest, scene?: Scene): Promise<string> {
  const { denial } = await judge(asked, scene);
  equal(denial?.code, 422);
  return denial.message;
}

Deno.test("admitProfile: admits a valid profile", async () => {
  deepEqual(await judge(request(profile())), { warnings: [] });
});

const broken: [string, Record<string, unknown>, RegExp][] = [
  [
    "a file without content",
    { bootstrapConfig: { files: [{ path: "/a", content: {} }] } },
    /bootstrapConfig.files.0.content.inline/,
  ],
  ["letters before its version", { version: "xxv1.0.0" }, /version: must be SemVer with a leading v/],
  ["a version without v", { version: "1.0.0" }, /version: must be SemVer/],
  ["an unknown field", { colour: "red" }, /"colour"/],
  ["a provider without a name", { supportedCloudProviders: [{ name: "" }] }, /supportedCloudProviders.0.name/],
  ["units for ubuntu", { provisioningConfig: { units: [{ name: "a.service" }] } }, /only flatcar supports them/],
];

for (const [what, spec, wanted] of broken) {
  Deno.test(`admitProfile: denies a profile with ${what}`, async () =>
    match(await denial(request(profile(spec))), wanted));
}

Deno.test("admitProfile: admits units of flatcar", async () => {
  const units = [{ name: "a.service", content: "[Unit]\n" }];
  const spec = { osName: "flatcar", provisioningUtility: "cloud-init", bootstrapConfig: { units } };
  equal((await judge(request(profile(spec)))).denial, undefined);
});

Deno.test("admitProfile: requires a higher version when the spec changes", async () => {
  const before = profile({ version: "v1.10.0" });
  const changed = (version: string): AdmissionRequest => request(profile({ version, osVersion: "26.04" }), before);
  match(await denial(changed("v1.10.0")), /the spec changed, but the version is still "v1.10.0"; increase it/);
  match(await denial(changed("v1.9.0")), /decreases from "v1.10.0" to "v1.9.0"/);
  equal((await judge(changed("v1.11.0"))).denial, undefined);
});

Deno.test("admitProfile: lets Ostler itself install an older version, but not change the spec of the same version", async () => {
  const before = profile({ version: "v1.10.0" });
  const byOstler = (version: string): AdmissionRequest => ({
    ...request(profile({ version, osVersion: "26.04" }), before),
    userInfo: { username: trusted },
  });
  equal((await judge(byOstler("v1.9.0"))).denial, undefined);
  match(await denial(byOstler("v1.10.0")), /still "v1.10.0"/);
});

Deno.test("admitProfile: admits a change of metadata and the deletion even of an invalid profile", async () => {
  const bad = profile({ version: "xxv1.0.0" });
  deepEqual(await judge(request({ ...bad, metadata: { ...bad.metadata, labels: {} } }, bad)), {});
  deepEqual(await judge(request(null, bad)), {});
});

Deno.test("admitProfile: denies a failing template once, naming file and a provider", async () => {
  const files = [file("/opt/setup", "line\nFAULT at line 2\n")];
  const message = await denial(request(profile({ provisioningConfig: { files } })));
  equal(
    message,
    'Failed to render file "/opt/setup": FAULT at line 2 (on provider "aws" with nothing set)',
  );
});

Deno.test("admitProfile: admits a template that calls the function fail, with a warning", async () => {
  const files = [file("/opt/setup", "FAULT: error calling fail: a proxy is needed")];
  const { denial, warnings } = await judge(request(profile({ provisioningConfig: { files } })));
  equal(denial, undefined);
  match(warnings?.[0] ?? "", /a proxy is needed/);
});

Deno.test("admitProfile: warns of user-data that is too large for a provider", async () => {
  // machine-controller compresses user-data for AWS, and random bytes cannot be compressed.
  const files = [file("/opt/big", randomBytes(20_000).toString("base64"))];
  const { denial, warnings } = await judge(request(profile({ bootstrapConfig: { files } })));
  equal(denial, undefined);
  equal(warnings?.length, 1);
  match(warnings[0] ?? "", /the bootstrap user-data has \d+ bytes; the limit of provider "aws" is 16384/);
});

Deno.test("admitProfile: renders a child with the fields of its parent", async () => {
  const parent = profile({ provisioningConfig: { files: [file("/opt/parent", "FAULT of the parent")] } });
  const child = profile({ extends: { name: "parent" } });
  match(await denial(request(child), { profiles: { parent } }), /file "\/opt\/parent": FAULT of the parent/);
});

Deno.test("admitProfile: admits a child of a missing parent with a warning, and denies a cycle", async () => {
  const child = profile({ extends: { name: "parent" } });
  const { denial: none, warnings } = await judge(request(child));
  equal(none, undefined);
  match(warnings?.[0] ?? "", /"parent": it does not exist; the profile was not rendered/);
  match(await denial(request(child), { profiles: { parent: profile({ extends: { name: "osp-mine" } }) } }), /osp-mine/);
});

Deno.test("admitProfile: admits a profile whose trial rendering was cancelled, and warns which provider was not rendered", async () => {
  const admit = admitProfile({
    ...{ specOf: () => Promise.resolve(undefined), trustedUsers: [] },
    engines: { go: echo, eta: echo },
  });
  const { denial, warnings } = await admit(request(profile()), AbortSignal.abort());
  equal(denial, undefined);
  match(warnings?.[0] ?? "", /took too long; it stopped before the profile was rendered for provider "aws"/);
});

Deno.test("admitProfile: denies a template that exceeds its time limit, and renders it only once", async () => {
  let renders = 0;
  const runaway: TemplateEngine = {
    ...echo,
    render: () => {
      renders++;
      return Promise.reject(new RunawayFault("it did not finish within 5000 ms", "/opt/setup"));
    },
  };
  const supportedCloudProviders = ["aws", "azure", "gce"].map((name) => ({ name }));
  const message = await denial(request(profile({ supportedCloudProviders })), { engine: runaway });
  equal(
    message,
    'Failed to render file "/opt/setup": it did not finish within 5000 ms (on provider "aws" with nothing set); ' +
      "the trial stopped there",
  );
  equal(renders, 1);
});

Deno.test("admitProfile: cancels a trial during a rendering, and admits the profile with a warning", async () => {
  const stop = new AbortController();
  const endless: TemplateEngine = {
    ...echo,
    render: (_, signal) => {
      setTimeout(() => stop.abort(), 1);
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    },
  };
  const admit = admitProfile({
    ...{ specOf: () => Promise.resolve(undefined), trustedUsers: [] },
    engines: { go: endless, eta: endless },
  });
  const { denial, warnings } = await admit(request(profile()), stop.signal);
  equal(denial, undefined);
  match(
    warnings?.[0] ?? "",
    /took too long; it stopped before the profile was rendered for provider "aws" with nothing set/,
  );
});

const engineStories: [string, Record<string, unknown>, RegExp][] = [
  ["an unknown field", { data: "one\n{{ .Nonsense }}\n" }, /"\/opt\/setup".*:2:.*Nonsense/],
  ["an unknown field if a proxy is set", { data: "{{ if .HTTPProxy }}\n{{ .Nonsense }}{{ end }}" }, /:2:.*Nonsense/],
  ["an unknown function", { data: "\n\n{{ frobnicate }}" }, /:3:.*frobnicate/],
  ["an open block", { data: "{{ if true }}" }, /"\/opt\/setup".*:1:/],
  ["Eta that reads a missing value", { data: "\n<%= it.nonsense %>", templating: "eta" }, /line 2.*nonsense/],
];

Deno.test("admitProfile: denies a failing template with file and line, as the real engines report", async (story) => {
  const admit = admitProfile({ specOf: () => Promise.resolve(undefined), trustedUsers: [] });
  try {
    for (const [what, { data, templating = "go" }, wanted] of engineStories) {
      await story.step(what, async () => {
        const setup = { files: [file("/opt/setup", String(data))] };
        const spec = { templating, bootstrapConfig: {}, provisioningConfig: setup };
        const { denial } = await admit(request(profile(spec)), AbortSignal.timeout(60_000));
        match(denial?.message ?? "admitted", wanted);
      });
    }
    await story.step("admitProfile: warns of a template that fails without optional values", async () => {
      const data = "{{ range $name, $value := .KubeReserved }}{{ $name }}{{ end }}{{ .NetworkConfig.IPFamily }}";
      const spec = { bootstrapConfig: {}, provisioningConfig: { files: [file("/opt/setup", data)] } };
      const { denial, warnings } = await admit(request(profile(spec)), AbortSignal.timeout(60_000));
      equal(denial, undefined);
      match(warnings?.join() ?? "", /KubeReserved.*with nothing set/);
    });
    const sound = await admit(request(profile()), AbortSignal.timeout(60_000));
    ok(!sound.denial, sound.denial?.message);
  } finally {
    await closeTemplateEngines();
  }
});

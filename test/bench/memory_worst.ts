// deno-lint-ignore-file no-console -- standard output is its result
/**
 * The worst that profiles can do to a process that renders them, several at once; `memory.ts` runs this program within
 * a pod's memory limit.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { closeTemplateEngines, hideSecrets, type OsProfile, parseProfile, renderConfig } from "../../profiles/mod.ts";
import { admitProfile } from "../../workers/admission/admit_profile.ts";
import { AdmissionReview } from "../../workers/admission/admission_review.ts";
import { renderFacts } from "../support/render_facts.ts";

const facts = renderFacts({ deployment: { kubelet: "1.36.1" }, secrets: { token: "bench-token-0123456789" } });
/**
 * Each profile here has two templates of at most `largestTemplate` bytes, because its spec may have 1.5 MiB in total.
 */
const MiB = 2 ** 20;
const largestTemplate = 0.7 * MiB;

/** Templates that take as much memory as they can get: in Eta and in Go. */
const greedy = {
  text: ["<% const text = 'x'.repeat(5e8); text.charCodeAt(4); %>", '{{ repeat 200000000 "x" | len }}'],
  heap: [
    "<% const all = []; for (;;) all.push({ at: all.length }); %>",
    '{{ $s := repeat 100000 "x" }}{{ range until 1000 }}{{ $s = print $s $s }}{{ end }}',
  ],
} as const;
type Greed = keyof typeof greedy;

function profileOf(name: string, template: string, templating?: "eta"): Record<string, unknown> {
  const file = { path: "/opt/file", content: { inline: { encoding: "b64", data: template } } };
  return {
    ...{ osName: "ubuntu", osVersion: "24.04", version: "v1.0.0", provisioningUtility: "cloud-init" },
    ...{ supportedCloudProviders: [{ name: "aws" }, { name: "kubevirt" }], ...(templating ? { templating } : {}) },
    bootstrapConfig: { files: [file] },
    provisioningConfig: { files: [{ ...file, path: `/opt/${name}` }] },
  };
}

/** Returns four profiles in Eta and two in Go: one for each process that the two engines can have. */
function six(template: (engine: 0 | 1) => string): OsProfile[] {
  const specs = [0, 1, 2, 3].map((at) => profileOf(`eta-${at}`, template(0), "eta"));
  return [...specs, ...[0, 1].map((at) => profileOf(`go-${at}`, template(1)))].map((spec) => parseProfile(spec));
}

async function renderAll(profiles: OsProfile[], wanted: "fulfilled" | "rejected"): Promise<void> {
  const ended = await Promise.allSettled(profiles.map((profile) => renderConfig(profile, hideSecrets(facts))));
  assert.deepEqual(ended.map(({ status }) => status), ended.map(() => wanted), JSON.stringify(ended).slice(0, 500));
}

/**
 * Runs as many concurrent reviews as the webhook accepts: each has a profile and its previous version, both of the
 * maximum size.
 */
async function review(template: string): Promise<void> {
  const filler = "y".repeat(largestTemplate);
  const object = (at: number, version: string): object => ({
    apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
    kind: "OperatingSystemProfile",
    metadata: { name: `osp-${at}`, namespace: "kube-system" },
    spec: { ...profileOf(`p-${at}`, `<% /* ${filler} */ %>${template}`, "eta"), version },
  });
  const texts = Array.from({ length: 11 }, (_, at) =>
    JSON.stringify({
      ...{ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" },
      request: {
        ...{
          uid: `${at}`,
          name: `osp-${at}`,
          namespace: "kube-system",
          operation: "UPDATE",
          userInfo: { username: "eve" },
        },
        ...{ object: object(at, "v1.0.1"), oldObject: object(at, "v1.0.0") },
      },
    }));
  const judge = admitProfile({ specOf: () => Promise.resolve(undefined), trustedUsers: [] });
  const verdicts = await Promise.allSettled(
    texts.map((text) => judge(AdmissionReview.parse(JSON.parse(text)).request, AbortSignal.timeout(8_000))),
  );
  const told = JSON.stringify(verdicts);
  // Every review must be refused while the template is rendered: an earlier refusal would use no memory.
  assert.equal(
    told.match(/the test rendering took too long|memory limit is \d+ MiB/g)?.length,
    texts.length,
    told.slice(0, 500),
  );
}

const cases: Record<string, () => Promise<void>> = {
  large: () =>
    renderAll(
      six((engine) => `${"z".repeat(largestTemplate)}${["<%= it.kubelet %>", "{{ .KubeVersion }}"][engine]}`),
      "fulfilled",
    ),
  text: () => renderAll(six((engine) => greedy.text[engine]), "rejected"),
  heap: () => renderAll(six((engine) => greedy.heap[engine]), "rejected"),
  reviews: () => review(greedy["heap" satisfies Greed][0]),
};

const [name = "", ballastMiB = "0"] = process.argv.slice(2);
// Takes the memory that a worker uses for all other work; each page is filled, because the kernel provides only used
// pages.
const ballast = new Uint8Array(Number(ballastMiB) * MiB).fill(1);
await cases[name]?.();
await closeTemplateEngines();
console.log(`done ${name} ${ballast.length}`);

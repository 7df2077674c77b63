/** Tests the fields for keyless signatures in an OSImage's spec, and provenances that an identity signed, not a key. */
import { deepEqual, equal, match } from "node:assert/strict";
import { json } from "../../../support/images/fake_registry.ts";
import { makeAuthority } from "../../../support/images/fulcio.ts";
import { bundleType, type Changes, workflow } from "../../../support/images/keyless_signer.ts";
import { type KeylessScene, onKeylessScene } from "../../../support/images/keyless_scene.ts";
import { Signer } from "../../../support/images/signer.ts";

const theirs = { issuer: workflow.issuer, subject: "https://github.com/theirs" };
const predicateType = "https://slsa.dev/provenance/v1";
const provenance = { predicateType, predicate: { runDetails: { builder: { id: "b" } } } };

type Keyless = KeylessScene["spec"]["keyless"];
const faults: [what: string, change: (keyless: Keyless) => unknown, words: RegExp][] = [
  ["no root", (keyless) => ({ ...keyless, roots: [] }), /spec\.keyless\.roots/],
  ["no log", (keyless) => ({ ...keyless, transparencyLogs: undefined }), /spec\.keyless\.transparencyLogs/],
  ["no identity", (keyless) => ({ ...keyless, identities: [] }), /spec\.keyless\.identities/],
  [
    "an identity without an issuer",
    (keyless) => ({ ...keyless, identities: [{ subject: "a" }] }),
    /identities\.0\.issuer/,
  ],
  [
    "a pattern of identities",
    (keyless) => ({ ...keyless, identities: [{ ...workflow, subjectRegExp: ".*" }] }),
    /subjectRegExp/,
  ],
  [
    "an identity with a space",
    (keyless) => ({ ...keyless, identities: [{ ...workflow, issuer: "a b" }] }),
    /must be ASCII without spaces/,
  ],
  [
    "the key of a log as a root",
    (keyless) => ({ ...keyless, roots: keyless.transparencyLogs }),
    /roots\[0\] is not a PEM certificate/,
  ],
  [
    "a root as the key of a log",
    (keyless) => ({ ...keyless, transparencyLogs: keyless.roots }),
    /transparencyLogs\[0\] is not a PEM public/,
  ],
  [
    "two certificates in one root",
    (keyless) => ({ ...keyless, roots: [keyless.roots.join("\n").repeat(2)] }),
    /roots\[0\] is not/,
  ],
  ["neither keys nor keyless", () => undefined, /must have keys or keyless/],
];

for (const [what, change, words] of faults) {
  Deno.test(`keyless spec: ${what} is refused without a request to a registry`, async () => {
    await onKeylessScene(async ({ registry, admission, spec }) => {
      admission.ask(JSON.parse(JSON.stringify({ ...spec, keyless: change(spec.keyless) })) as object);
      equal(await admission.judge(), "SpecInvalid");
      match(admission.message, words);
      deepEqual(registry.paths, []);
    });
  });
}

Deno.test("keyless spec: a certificate that is not a CA is refused as a root", async () => {
  await onKeylessScene(async ({ admission, spec }) => {
    for (const facts of [{ isAuthority: false }, { usages: 1 }]) {
      const { pem } = await makeAuthority("none", facts);
      admission.ask({ ...spec, keyless: { ...spec.keyless, roots: [spec.keyless.roots[0], pem] } });
      equal(await admission.judge(), "SpecInvalid");
      match(admission.message, /spec\.keyless\.roots\[1\]/);
    }
  });
});

for (
  const [form, entry] of [["layer", "dsse"], ["layer", "intoto"], ["layer", "intoto2"], ["bundle", "dsse"], [
    "bundle",
    "intoto2",
  ]] as const
) {
  Deno.test(`keyless spec: accepts a provenance that a configured identity signed, as ${form} and with log entry ${entry}`, async () => {
    await onKeylessScene(async ({ registry, image: { digest }, sigstore, admission, spec }) => {
      admission.ask({ ...spec, requireProvenance: { builder: "b" } });
      const tag = digest.replace(":", "-");
      registry.attach(`${tag}.sig`, [await sigstore.layer(digest)]);
      const attest = async (changes: Changes): Promise<string> => {
        const layer = form === "bundle"
          ? { mediaType: bundleType, bytes: json(await sigstore.bundle(digest, { ...changes, entry }, provenance)) }
          : await sigstore.statement(digest, provenance, { ...changes, entry });
        registry.attach(`${tag}.att`, [layer]);
        return await admission.judge();
      };
      equal(await admission.judge(), "ProvenanceMissing");
      equal(await attest({ holder: theirs }), "ProvenanceInvalid");
      match(admission.message, /by the identity of the spec: one was signed by "https:\/\/github.com\/theirs"/);
      equal(await attest({}), "Accepted");
      equal(admission.object.status?.provenance?.signedBy, `${workflow.issuer} ${workflow.subject}`);
    });
  });
}

Deno.test("keyless spec: refuses a provenance when its log entry is about another envelope", async () => {
  await onKeylessScene(async ({ registry, image: { digest }, sigstore, admission, spec }) => {
    admission.ask({ ...spec, requireProvenance: {} });
    registry.attach(`${digest.replace(":", "-")}.sig`, [await sigstore.layer(digest)]);
    for (const entry of ["dsse", "intoto", "intoto2"] as const) {
      const layer = await sigstore.statement(digest, provenance, { entry });
      const other = await sigstore.statement(digest, { predicateType, predicate: 1 }, { entry });
      const mixed = { ...layer, annotations: { ...layer.annotations, ...bundleOf(other) } };
      registry.attach(`${digest.replace(":", "-")}.att`, [mixed]);
      equal(await admission.judge(), "ProvenanceInvalid");
      match(admission.message, /for another signature/);
    }
  });
});

function bundleOf({ annotations }: { annotations: Record<string, string> }): Record<string, string> {
  return { "dev.sigstore.cosign/bundle": annotations["dev.sigstore.cosign/bundle"] ?? "" };
}

Deno.test("keyless spec: a bundle whose log entry has a proof of inclusion, but no inclusion promise, is refused for that reason", async () => {
  await onKeylessScene(async ({ image, sigstore, admission, judgeWith }) => {
    const bundle = await sigstore.bundle(image.digest);
    const [{ inclusionPromise: _, ...entry } = {}] = bundle.verificationMaterial.tlogEntries;
    const tlogEntries = [{ ...entry, inclusionProof: { logIndex: "0", treeSize: "1", hashes: [] } }];
    const broken = { ...bundle, verificationMaterial: { ...bundle.verificationMaterial, tlogEntries } };
    equal(await judgeWith({ mediaType: bundleType, bytes: json(broken) }), "SignatureInvalid");
    match(admission.message, /no log entry with an inclusion promise/);
  });
});

for (
  const [what, material] of [
    ["no certificate", { publicKey: { hint: "a" } }],
    ["an invalid certificate", { certificate: { rawBytes: "AAAA" } }],
    ["an empty chain", { x509CertificateChain: { certificates: [] } }],
    ["too many certificates", {
      x509CertificateChain: { certificates: Array(9).fill({ rawBytes: "AAAA" }) },
    }],
    ["too many log entries", { certificate: { rawBytes: "AAAA" }, tlogEntries: Array(9).fill({}) }],
    ["an oversized certificate", { certificate: { rawBytes: "A".repeat(100_000) } }],
    ["a number as its verification material", 1],
  ] as const
) {
  Deno.test(`keyless spec: a bundle with ${what} is refused`, async () => {
    await onKeylessScene(async ({ image, sigstore, judgeWith }) => {
      const bundle = await sigstore.bundle(image.digest);
      const broken = { ...bundle, verificationMaterial: material };
      equal(await judgeWith({ mediaType: bundleType, bytes: json(broken) }), "SignatureInvalid");
      equal(await judgeWith({ mediaType: bundleType, bytes: json(bundle) }), "Accepted");
    });
  });
}

Deno.test("keyless spec: the message of a refusal lists only a few of many errors, and shortens long identities", async () => {
  await onKeylessScene(async ({ registry, image: { digest }, sigstore, admission }) => {
    const subject = (at: number): string => `https://a.example/${at}${"\u0007/a".repeat(2_000)}`;
    const layers = [0, 1, 2, 3].map((at) => sigstore.layer(digest, { holder: { ...workflow, subject: subject(at) } }));
    registry.attach(`${digest.replace(":", "-")}.sig`, [...await Promise.all(layers), new Signer().layer(digest)]);
    equal(await admission.judge(), "SignatureInvalid");
    equal(admission.message.match(/one was signed by/g)?.length, 2);
    equal(/\p{C}/u.test(admission.message) || admission.message.length > 1_000, false);
  });
});

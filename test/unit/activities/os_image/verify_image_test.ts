/** Tests which signatures and provenance statements are accepted, with a registry in memory. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { verifyImage } from "../../../../activities/os_image/verify_image.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { Admission } from "../../../support/images/admission.ts";
import { FakeRegistry, json } from "../../../support/images/fake_registry.ts";
import type { MadeImage } from "../../../support/images/made_image.ts";
import { Signer } from "../../../support/images/signer.ts";

interface Scene {
  registry: FakeRegistry;
  image: MadeImage;
  signer: Signer;
  admission: Admission;
  /** The tag under which the registry has the image's signatures. */
  tag: string;
  spec: { reference: string; keys: string[] };
}

async function onScene(
  run: (scene: Scene) => Promise<void>,
  kind: ConstructorParameters<typeof Signer>[0] = "p256",
): Promise<void> {
  await using registry = new FakeRegistry();
  const image = registry.put("v1", { content: "1" });
  const [signer, admission] = [new Signer(kind), new Admission()];
  const spec = { reference: `${registry.host}/os/a:v1`, keys: [signer.pem] };
  admission.ask(spec);
  await run({ registry, image, signer, admission, spec, tag: `${image.digest.replace(":", "-")}.sig` });
}

for (const kind of ["p256", "rsa", "ed25519"] as const) {
  Deno.test(`A15 verifyImage: accepts a signature with a ${kind} key, and refuses one over other bytes`, async () => {
    await onScene(async ({ registry, image, signer, admission, tag }) => {
      equal(await admission.judge(), "SignatureMissing");
      const layer = signer.layer(image.digest);
      registry.attach(tag, [{ ...layer, bytes: Buffer.concat([layer.bytes, Buffer.from(" ")]) }]);
      equal(await admission.judge(), "SignatureInvalid");
      registry.attach(tag, [layer]);
      equal(await admission.judge(), "Accepted");
    }, kind);
  });
}

Deno.test("A15 verifyImage: refuses an image whose only signature is of another key", async () => {
  await onScene(async ({ registry, image, signer, admission, tag }) => {
    const other = new Signer().layer(image.digest);
    registry.attach(tag, [other]);
    equal(await admission.judge(), "SignatureInvalid");
    registry.attach(tag, [other, signer.layer(image.digest)]);
    equal(await admission.judge(), "Accepted");
  });
});

for (
  const [what, fields] of [
    ["names another digest", { image: { "docker-manifest-digest": `sha256:${"0".repeat(64)}` } }],
    ["is of another type", { type: "atomic container signature" }],
    ["names no image", { image: undefined }],
  ] as const
) {
  Deno.test(`verifyImage: refuses a valid signature over a payload that ${what}`, async () => {
    await onScene(async ({ registry, image, signer, admission, tag }) => {
      registry.attach(tag, [signer.layer(image.digest, fields)]);
      equal(await admission.judge(), "SignatureInvalid");
    });
  });
}

Deno.test("verifyImage: accepts a bundle with a signature only for the image that it names, and only by a key of the spec", async () => {
  await onScene(async ({ registry, image, signer, admission, tag }) => {
    const predicateType = "https://sigstore.dev/cosign/sign/v1";
    const mediaType = "application/vnd.dev.sigstore.bundle.v0.3+json";
    const attach = (envelope: Uint8Array): string => {
      const dsseEnvelope: unknown = JSON.parse(new TextDecoder().decode(envelope));
      return registry.attach(tag, [{ mediaType, bytes: json({ mediaType, dsseEnvelope }) }]);
    };
    attach(signer.envelope(`sha256:${"0".repeat(64)}`, { predicateType }));
    equal(await admission.judge(), "SignatureInvalid");
    attach(new Signer().envelope(image.digest, { predicateType }));
    equal(await admission.judge(), "SignatureInvalid");
    attach(signer.envelope(image.digest, { predicateType }));
    equal(await admission.judge(), "Accepted");
  });
});

Deno.test("verifyImage: does not accept a provenance as a signature, even if a key of the spec signed it", async () => {
  await onScene(async ({ registry, image, signer, admission, tag }) => {
    const bytes = signer.envelope(image.digest, { predicateType: "https://slsa.dev/provenance/v1" });
    registry.attach(tag, [{ mediaType: "application/vnd.dsse.envelope.v1+json", bytes }]);
    equal(await admission.judge(), "SignatureMissing");
  });
});

Deno.test("verifyImage: refuses a provenance about another image, or by another key", async () => {
  await onScene(async ({ registry, image, signer, admission, tag, spec }) => {
    admission.ask({ ...spec, requireProvenance: {} });
    const predicateType = "https://slsa.dev/provenance/v1";
    const mediaType = "application/vnd.dsse.envelope.v1+json";
    registry.attach(tag, [signer.layer(image.digest)]);
    const attest = (bytes: Uint8Array): string => registry.attach(tag.replace(".sig", ".att"), [{ mediaType, bytes }]);
    attest(signer.envelope(`sha256:${"0".repeat(64)}`, { predicateType }));
    equal(await admission.judge(), "ProvenanceInvalid");
    attest(new Signer().envelope(image.digest, { predicateType }));
    equal(await admission.judge(), "ProvenanceInvalid");
    attest(signer.envelope(image.digest, { predicateType: "https://example.org/other" }));
    equal(await admission.judge(), "ProvenanceMissing");
    attest(signer.envelope(image.digest, { predicateType, predicate: { runDetails: 1, builder: { id: "b" } } }));
    equal(await admission.judge(), "Accepted");
    deepEqual(admission.object.status?.provenance?.builder, "b");
    admission.ask({ ...spec, requireProvenance: { builder: "c" } });
    equal(await admission.judge(), "ProvenanceInvalid");
    admission.ask({ ...spec, requireProvenance: { builder: "b" } });
    equal(await admission.judge(), "Accepted");
  });
});

Deno.test("verifyImage: finds a valid signature after 20 invalid ones, and stops reading at a limit", async () => {
  await onScene(async ({ registry, image, signer, admission, tag }) => {
    const junk = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ ...signer.layer(image.digest), bytes: json({ at }) }));
    registry.attach(tag, [...junk(20), signer.layer(image.digest)]);
    equal(await admission.judge(), "Accepted");
    registry.attach(tag, [...junk(64), signer.layer(image.digest)]);
    registry.requests.length = 0;
    equal(await admission.judge(), "SignatureInvalid");
    match(admission.message, /not all attachments could be read/);
    equal(registry.paths.length < 100, true);
  });
});

Deno.test("verifyImage: reports unread attachments when the list of referrers or a manifest is invalid", async () => {
  await onScene(async ({ registry, image, admission, tag }) => {
    equal(await admission.judge(), "SignatureMissing");
    equal(/not all attachments/.test(admission.message), false);
    for (const path of [`/referrers/${image.digest}`, `/manifests/${tag}`]) {
      registry.intrude = ({ url }) => url.includes(path) ? new Response("{") : undefined;
      equal(await admission.judge(), "SignatureMissing");
      match(admission.message, /not all attachments could be read/);
    }
  });
});

Deno.test("verifyImage: follows a bounded number of referrers", async () => {
  await onScene(async ({ registry, image, signer, admission }) => {
    const listed = Array.from({ length: 900 }, (_, at) => ({
      digest: registry.attach(`junk-${at}`, [{ mediaType: "text/plain", bytes: json({ at }) }]),
    }));
    const good = { digest: registry.attach("good", [signer.layer(image.digest)]) };
    registry.intrude = ({ url }) =>
      url.includes(`/referrers/${image.digest}`) ? Response.json({ manifests: [...listed, good] }) : undefined;
    equal(await admission.judge(), "SignatureMissing");
    match(admission.message, /not all attachments could be read/);
    registry.intrude = ({ url }) =>
      url.includes(`/referrers/${image.digest}`) ? Response.json({ manifests: [good, ...listed] }) : undefined;
    equal(await admission.judge(), "Accepted");
  });
});

for (
  const [what, status, isHidden] of [
    ["the referrers API is refused, as by Harbor before 2.8", 401, (url: string) => url.includes("/referrers/")],
    ["missing tags are refused, as by Artifactory", 403, (url: string) => /(\.att|sha256-[0-9a-f]{64})$/.test(url)],
  ] as const
) {
  Deno.test(`verifyImage: accepts a signed image although ${what}, and keeps it if its signature is refused too`, async () => {
    await onScene(async ({ registry, image, signer, admission, tag }) => {
      registry.intrude = ({ url }) => isHidden(url) ? new Response(null, { status }) : undefined;
      equal(await admission.judge(), "RegistryDenied");
      match(admission.message, /No signature is attached to sha256:.*; "\S+" refuses access to /);
      registry.attach(tag, [signer.layer(image.digest)]);
      equal(await admission.judge(), "Accepted");
      registry.intrude = ({ url }) => isHidden(url) || url.endsWith(tag) ? new Response(null, { status }) : undefined;
      equal(await admission.judge(), "RegistryDenied");
      equal(admission.accepted.state, "Accepted");
    });
  });
}

const { privatePem } = new Signer();
for (
  const [what, change] of [
    ["a private key in place of a public one", { keys: [privatePem] }],
    ["an invalid key", { keys: ["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"] }],
    ["no key", { keys: [] }],
    ["an incomplete keyless section", { keyless: { issuer: "https://issuer.example" } }],
    ["an unknown field", { requireSbom: {} }],
    ["a reference without a registry", { reference: "debian:13" }],
    ["a reference without tag and digest", { reference: "registry.example/os" }],
    ["a path with ..", { reference: "registry.example/a/../b:v1" }],
    ["insecure with credentials", { insecure: true, pullSecret: "a" }],
    ["an invalid age", { maxAge: "d" }],
  ] as const
) {
  Deno.test(`verifyImage: refuses a spec with ${what} without a request to a registry`, async () => {
    await onScene(async ({ registry, admission, spec }) => {
      admission.ask({ ...spec, ...change });
      registry.requests.length = 0;
      equal(await admission.judge(), "SpecInvalid");
      equal(admission.message.includes(privatePem.split("\n")[1] ?? ""), false);
      deepEqual(registry.paths, []);
    });
  });
}

Deno.test("verifyImage: refuses an image whose manifest is ambiguous or invalid", async () => {
  await onScene(async ({ registry, admission, spec }) => {
    const config = { digest: `sha256:${"0".repeat(64)}` };
    for (const value of [{ manifests: [], config, layers: [] }, { layers: [] }, [], 1, "a"]) {
      registry.manifests.set("odd", json(value));
      admission.ask({ ...spec, reference: spec.reference.replace(":v1", ":odd") });
      equal(await admission.judge(), "ManifestInvalid");
    }
  });
});

Deno.test("verifyImage: keeps an accepted image when the registry denies access or the Secret is missing", async () => {
  await onScene(async ({ registry, image, signer, admission, tag, spec }) => {
    registry.attach(tag, [signer.layer(image.digest)]);
    equal(await admission.judge(), "Accepted");
    registry.intrude = () => new Response(null, { status: 403 });
    equal(await admission.judge(), "RegistryDenied");
    equal(admission.accepted.state, "Accepted");
    admission.ask({ ...spec, pullSecret: "none" });
    equal(await admission.judge(), "CredentialsMissing");
    deepEqual([admission.accepted.state, admission.object.status?.digest], ["Waiting", image.manifests["linux/amd64"]]);
  });
});

Deno.test("verifyImage: does not verify an image that was resolved for a deleted object of the same name and generation", async () => {
  await onScene(async ({ registry, image: { digest }, signer, admission, tag }) => {
    registry.attach(tag, [signer.layer(digest)]);
    const image = { uid: "uid-of-the-deleted", generation: 1, repository: "registry.example/os", digest };
    const verified = (): Promise<unknown> =>
      inActivity(() => verifyImage(admission.kube.client, { object: { name: "image" }, image }, Date.now()));
    await rejects(verified, { type: "GenerationStale" });
    deepEqual(registry.paths, []);
  });
});

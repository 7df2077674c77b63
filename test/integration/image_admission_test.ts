/** The admission of images that the real cosign signs and the registry of the Distribution project stores. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createHash, createPublicKey } from "node:crypto";
import { Admission } from "../support/images/admission.ts";
import { Cosign, type signatureForms } from "../support/images/cosign.ts";
import { pushImage } from "../support/images/made_image.ts";
import { RegistryServer } from "../support/images/registry_server.ts";

const path = "os/debian";
const both = ["linux/amd64", "linux/arm64"] as const;

interface Scene {
  registry: RegistryServer;
  cosign: Cosign;
  repository: string;
}

async function onScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  await using registry = await RegistryServer.start();
  await using cosign = await Cosign.open();
  await run({ registry, cosign, repository: `${registry.host}/${path}` });
}

function fingerprint(pem: string): string {
  const der = createPublicKey(pem).export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(der).digest("hex")}`;
}

Deno.test("A15 image admission: an unsigned image is refused; an image signed by a key of the spec is accepted, with the digests of index and platform", async () => {
  await onScene(async ({ registry, cosign, repository }) => {
    const { digest, manifests } = await pushImage(registry.host, path, "v1", { content: "1", platforms: both });
    const key = await cosign.makeKey("ours");
    const admission = new Admission();
    admission.ask({ reference: `${repository}:v1`, keys: [key] });
    equal(await admission.judge(), "SignatureMissing");
    deepEqual([admission.accepted.state, admission.object.status?.digest], ["Refused", manifests["linux/amd64"]]);
    await cosign.sign("ours", `${repository}@${digest}`);
    equal(await admission.judge(), "Accepted");
    deepEqual(admission.accepted, { state: "Accepted", image: repository, digest: manifests["linux/amd64"] });
    const { indexDigest, signedDigest, signedBy } = admission.object.status ?? {};
    deepEqual([indexDigest, signedDigest, signedBy], [digest, digest, fingerprint(key)]);
  });
});

Deno.test("image admission: an image is refused until a key of the spec has signed it, also after the key in the spec changed", async () => {
  await onScene(async ({ registry, cosign, repository }) => {
    const { digest } = await pushImage(registry.host, path, "v1", { content: "1" });
    const [ours, theirs, next] = [
      await cosign.makeKey("ours"),
      await cosign.makeKey("theirs"),
      await cosign.makeKey("next"),
    ];
    await cosign.sign("theirs", `${repository}@${digest}`);
    const admission = new Admission();
    const reference = `${repository}:v1`;
    admission.ask({ reference, keys: [ours] });
    equal(await admission.judge(), "SignatureInvalid");
    ok(admission.message.includes(fingerprint(ours)));
    await cosign.sign("ours", `${repository}@${digest}`);
    equal(await admission.judge(), "Accepted");
    admission.ask({ reference, keys: [next] });
    equal(await admission.judge(), "SignatureInvalid");
    await cosign.sign("next", `${repository}@${digest}`);
    equal(await admission.judge(), "Accepted");
    equal(admission.object.status?.signedBy, fingerprint(next));
    equal(theirs === ours, false);
  });
});

Deno.test("image admission: a signature of another image is invalid, even if it is copied to the signature tag of this image", async () => {
  await onScene(async ({ registry, cosign, repository }) => {
    const good = await pushImage(registry.host, path, "good", { content: "good" });
    const bad = await pushImage(registry.host, path, "bad", { content: "bad" });
    const key = await cosign.makeKey("ours");
    await cosign.sign("ours", `${repository}@${good.digest}`);
    const root = `http://${repository.replace("/", "/v2/")}/manifests`;
    const tagOf = (digest: string): string => `${root}/${digest.replace(":", "-")}.sig`;
    const type = "application/vnd.oci.image.manifest.v1+json";
    const stolen = await (await fetch(tagOf(good.digest), { headers: { accept: type } })).text();
    const put = await fetch(tagOf(bad.digest), { method: "PUT", body: stolen, headers: { "content-type": type } });
    await put.body?.cancel();
    equal(put.status, 201);
    const admission = new Admission();
    admission.ask({ reference: `${repository}:bad`, keys: [key] });
    equal(await admission.judge(), "SignatureInvalid");
  });
});

for (
  const [form, kind] of [["tag", "rsa"], ["bundle", "rsa"], ["referrer", "cosign"], ["bundle", "cosign"]] as [
    keyof typeof signatureForms,
    "cosign" | "rsa",
  ][]
) {
  Deno.test(`image admission: an image is accepted if a key of type ${kind} signed it, and its signature is stored as ${form}`, async () => {
    await onScene(async ({ registry, cosign, repository }) => {
      const { digest } = await pushImage(registry.host, path, "v1", { content: "1", isSingle: true });
      const key = await cosign.makeKey("ours", kind);
      const admission = new Admission();
      admission.ask({ reference: `${repository}:v1@${digest}`, keys: [await cosign.makeKey("other"), key] });
      equal(await admission.judge(), "SignatureMissing");
      await cosign.sign("ours", `${repository}@${digest}`, form);
      equal(await admission.judge(), "Accepted");
      deepEqual(admission.accepted, { state: "Accepted", image: repository, digest });
      admission.ask({ reference: `${repository}:v1`, keys: [await cosign.makeKey("another")] });
      equal(await admission.judge(), "SignatureInvalid");
    });
  });
}

Deno.test("image admission: a tag that is pushed again needs a signature of the new digest; the previous digest stays in the history", async () => {
  await onScene(async ({ registry, cosign, repository }) => {
    const first = await pushImage(registry.host, path, "v1", { content: "1" });
    const key = await cosign.makeKey("ours");
    await cosign.sign("ours", `${repository}@${first.digest}`);
    const admission = new Admission();
    admission.ask({ reference: `${repository}:v1`, keys: [key] });
    equal(await admission.judge(), "Accepted");
    const second = await pushImage(registry.host, path, "v1", { content: "2" });
    equal(await admission.judge(), "SignatureMissing");
    const formerly = (): unknown => admission.object.status?.history.map(({ digest }) => digest);
    deepEqual(formerly(), [first.manifests["linux/amd64"]]);
    await cosign.sign("ours", `${repository}@${second.digest}`);
    equal(await admission.judge(), "Accepted");
    deepEqual(formerly(), [second.manifests["linux/amd64"], first.manifests["linux/amd64"]]);
  });
});

Deno.test("image admission: while the registry is down an accepted image stays accepted, and a new image waits", async () => {
  await onScene(async ({ registry, cosign, repository }) => {
    const { digest } = await pushImage(registry.host, path, "v1", { content: "1" });
    const key = await cosign.makeKey("ours");
    await cosign.sign("ours", `${repository}@${digest}`);
    const [accepted, fresh] = [new Admission(), new Admission()];
    for (const admission of [accepted, fresh]) admission.ask({ reference: `${repository}:v1`, keys: [key] });
    equal(await accepted.judge(), "Accepted");
    await registry.goAway();
    deepEqual([await accepted.judge(), await fresh.judge()], ["RegistryUnreachable", "RegistryUnreachable"]);
    deepEqual([accepted.accepted.state, fresh.accepted.state], ["Accepted", "Waiting"]);
    match(fresh.message, /cannot be reached/);
    const reachable = accepted.object.status?.conditions.find(({ type }) => type === "Reachable");
    deepEqual([reachable?.status, reachable?.reason], ["False", "RegistryUnreachable"]);
    await registry.comeBack();
    deepEqual([await accepted.judge(), await fresh.judge()], ["Accepted", "Accepted"]);
  });
});

Deno.test("image admission: a required provenance and scan must be signed by a key of the spec, and the provenance must name the required builder", async () => {
  await onScene(async ({ registry, cosign, repository }) => {
    const { digest } = await pushImage(registry.host, path, "v1", { content: "1" });
    const image = `${repository}@${digest}`;
    const [key] = [await cosign.makeKey("ours"), await cosign.makeKey("theirs")];
    await cosign.sign("ours", image);
    const admission = new Admission();
    const builder = "https://builder.example/v1";
    const asked = { reference: `${repository}:v1`, keys: [key], requireProvenance: { builder }, requireScan: {} };
    admission.ask(asked);
    equal(await admission.judge(), "ProvenanceMissing");
    const predicate = {
      buildDefinition: { buildType: "mkosi", externalParameters: {} },
      runDetails: { builder: { id: builder } },
    };
    await cosign.attest("theirs", image, { type: "slsaprovenance1", predicate });
    equal(await admission.judge(), "ProvenanceInvalid");
    await cosign.attest("ours", image, { type: "slsaprovenance1", predicate });
    equal(await admission.judge(), "ScanMissing");
    const scanned = {
      scanner: { uri: "a" },
      metadata: { scanStartedOn: "2026-11-01T00:00:00Z", scanFinishedOn: "2026-11-01T00:01:00Z" },
    };
    await cosign.attest("ours", image, { type: "vuln", predicate: scanned });
    equal(await admission.judge(), "Accepted");
    const { provenance, scan } = admission.object.status ?? {};
    deepEqual([provenance?.builder, provenance?.buildType, scan?.finishedOn], [
      builder,
      "mkosi",
      "2026-11-01T00:01:00Z",
    ]);
    admission.ask({ ...asked, requireProvenance: { builder: "https://another.example" } });
    equal(await admission.judge(), "ProvenanceInvalid");
    match(admission.message, /names builder "https:\/\/builder.example\/v1"; expected/);
  });
});

Deno.test("image admission: an image for another platform, too old, or missing is refused", async () => {
  await onScene(async ({ registry, cosign, repository }) => {
    const created = "2026-01-01T00:00:00Z";
    const { digest } = await pushImage(registry.host, path, "v1", {
      content: "1",
      platforms: ["linux/arm64"],
      created,
    });
    const key = await cosign.makeKey("ours");
    await cosign.sign("ours", `${repository}@${digest}`);
    const admission = new Admission();
    const reference = `${repository}:v1`;
    admission.ask({ reference, keys: [key] });
    equal(await admission.judge(), "PlatformMissing");
    match(admission.message, /the platforms in the image index are linux\/arm64/);
    const arm = { reference, keys: [key], platform: "linux/arm64", maxAge: "30d" };
    admission.ask(arm);
    equal(await admission.judge(Date.parse("2026-01-31T00:00:01Z")), "TooOld");
    equal(await admission.judge(Date.parse("2026-01-30T23:59:59Z")), "Accepted");
    admission.ask({ ...arm, reference: `${repository}:v2` });
    equal(await admission.judge(), "NotFound");
  });
});

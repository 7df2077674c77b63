/**
 * The chart and manifests of `deno task release`, run with --without=cli,image, because building those takes minutes.
 */
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { Buffer } from "node:buffer";
import { generateKeyPairSync, verify } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Attached, simpleSigning } from "../../activities/os_image/attached.ts";
import { judgeSignature } from "../../activities/os_image/signature.ts";
import { readStatement } from "../../activities/os_image/statement.ts";
import { readTrust, signerOf } from "../../activities/os_image/trust.ts";
import { readKey, signImage } from "../../deploy/release/signatures.ts";
import { parseOptions } from "../../deploy/release/options.ts";
import { makeRelease } from "../../deploy/release/release.ts";
import { parseManifests } from "../../deploy/local/stack/manifests.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import manifest from "../../package.json" with { type: "json" };
import { chartObjects } from "../support/chart_objects.ts";

const { version } = manifest;
const tools = await resolveTools(["helm", "kubectl"]);
interface Subject {
  name: string;
  digest: { sha256: string };
}

const little = ["--draft", "--without=cli,image"];

Deno.test("fault S9: release: states how its files were built, and signs them with the given key as cosign does", async () => {
  const output = mkdtempSync(join(tmpdir(), "ostler-release-"));
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const key = join(output, "..", `ostler-key-${process.pid}.pem`);
  const release = (signKey: string): Promise<void> =>
    makeRelease(parseOptions([...little, "--output", output, "--sign-key", signKey]), tools, () => {});
  try {
    writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }));
    await release(key);
    const read = (name: string): Buffer => readFileSync(join(output, name));
    const sums = read("SHA256SUMS");
    const signature = Buffer.from(read("SHA256SUMS.sig").toString(), "base64");
    ok(verify("sha256", sums, publicKey, signature));
    const trust = readTrust({ keys: [publicKey.export({ type: "spki", format: "pem" }).toString()] });
    const statement = readStatement({ bytes: read(`ostler-${version}.intoto.dsse.json`), annotations: {} });
    ok(statement && "signedBy" in signerOf(statement, trust));
    equal(statement.predicateType, "https://slsa.dev/provenance/v1");
    const stated = JSON.parse(`${statement.payload}`).subject.map(({ name, digest }: Subject) =>
      `${digest.sha256}  ${name}`
    );
    const listed = sums.toString().trim().split("\n").filter((line) => !line.endsWith(".intoto.json"));
    deepEqual(stated, listed);
    match(`${statement.payload}`, /"gitCommit": "[0-9a-f]{40}"/);
    // The statement lists base images only if an image was built, which is not the case here.
    doesNotMatch(`${statement.payload}`, /debian|denoland/);

    const digest = `sha256:${"a".repeat(64)}`;
    writeFileSync(join(output, "index.json"), JSON.stringify({ manifests: [{ digest }] }));
    execFileSync("tar", ["--create", "--file=image-linux-amd64.tar", "index.json"], { cwd: output });
    const [payload = "", signed = ""] = await signImage(output, "image-linux-amd64.tar", await readKey(key));
    const annotations = { "dev.cosignproject.cosign/signature": read(signed).toString() };
    const attached = { mediaType: simpleSigning, bytes: read(payload), annotations } as Attached;
    ok("signedBy" in (judgeSignature(attached, digest, trust) ?? {}));

    writeFileSync(key, "no key");
    await rejects(
      release(key),
      /^Error: Failed to read the signing key "\S+": it is not an unencrypted ECDSA key on P-256/,
    );
  } finally {
    rmSync(output, { recursive: true });
    rmSync(key, { force: true });
  }
});

Deno.test("release: two runs make the same chart, manifests, notes, and checksums", async () => {
  const folders = [1, 2].map(() => mkdtempSync(join(tmpdir(), "ostler-release-")));
  try {
    const said: string[] = [];
    for (const output of folders) {
      await makeRelease(parseOptions([...little, "--output", output]), tools, (text) => void said.push(text));
    }
    const [first = "", second = ""] = folders;
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
    equal(sums, readFileSync(join(second, "SHA256SUMS"), "utf8"));
    execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: first });
    deepEqual(sums.match(/\S+$/gm)?.concat("SHA256SUMS").sort(), readdirSync(first).sort());
    ok(said.includes("Skipped: ostler command") && said.includes("Skipped: image"));

    const chart = join(first, `ostler-${version}.tgz`);
    const order = { helm: tools.helm, set: ["namespaces.own=true"] };
    const packed = await chartObjects({ ...order, chart });
    deepEqual(packed, await chartObjects(order));
    const names = (objects: readonly { kind: string; metadata: { name: string } }[]): string[] =>
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
    const plain = parseManifests(readFileSync(join(first, `ostler-${version}.yaml`), "utf8"), "plain");
    deepEqual(names(plain), names(packed));
    match(JSON.stringify(plain), new RegExp(`"ostler:${version}"`));
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true });
  }
});

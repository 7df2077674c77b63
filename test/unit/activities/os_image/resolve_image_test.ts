/** Resolves references over a registry in memory. */
import { deepEqual, equal, match } from "node:assert/strict";
import { resolveImage } from "../../../../activities/os_image/resolve_image.ts";
import { registryTries } from "../../../../activities/os_image/fault.ts";
import { isLoopback, parseReference } from "../../../../activities/os_image/reference.ts";
import { durationMs } from "../../../../activities/os_image/age.ts";
import type { ImageLook } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { FakeRegistry, json } from "../../../support/images/fake_registry.ts";
import { Signer } from "../../../support/images/signer.ts";

const keys = [new Signer().pem];
const creationTimestamp = "2026-01-01T00:00:00Z";
const created = "2026-10-01T12:00:00.000Z";

function kubeWith(spec: object): FakeKube {
  const kube = new FakeKube();
  kube.put("osimages", { metadata: { name: "a", generation: 4, creationTimestamp }, spec: { keys, ...spec } });
  return kube;
}

function look(spec: object, attempt = 1): Promise<ImageLook> {
  return inActivity(() => resolveImage(kubeWith(spec).client, { object: { name: "a" } }), { attempt });
}

Deno.test("resolveImage: returns the digests of the image and of its index, the creation time, and the observed generation", async () => {
  await using registry = new FakeRegistry();
  const platforms = ["linux/arm64", "linux/amd64"];
  const { digest: indexDigest, manifests } = registry.put("v1", { content: "1", platforms, created });
  const repository = `${registry.host}/os/a`;
  deepEqual(await look({ reference: `${repository}:v1` }), {
    outcome: "Resolved",
    image: { uid: "uid-of-a", generation: 4, repository, digest: manifests["linux/amd64"], indexDigest, created },
  });
  const single = registry.put("v2", { content: "2", isSingle: true });
  deepEqual(await look({ reference: `${repository}:v2` }), {
    outcome: "Resolved",
    image: { uid: "uid-of-a", generation: 4, repository, digest: single.digest },
  });
});

Deno.test("resolveImage: uses the digest when a reference has a tag too", async () => {
  await using registry = new FakeRegistry();
  const first = registry.put("v1", { content: "1" });
  registry.put("v1", { content: "2" });
  const seen = await look({ reference: `${registry.host}/os/a:v1@${first.digest}` });
  equal(seen.outcome === "Resolved" && seen.image.indexDigest, first.digest);
});

Deno.test("resolveImage: refuses an image whose config has another platform than the index states, or no platform", async () => {
  await using registry = new FakeRegistry();
  const image = registry.put("v1", { content: "1", platforms: ["linux/arm64"], isSingle: true });
  const manifests = [{ digest: image.digest, platform: { os: "linux", architecture: "amd64" } }];
  registry.manifests.set("odd", json({ manifests }));
  const seen = await look({ reference: `${registry.host}/os/a:odd` });
  deepEqual([seen.outcome, "reason" in seen && seen.reason], ["Refused", "PlatformMissing"]);
  match("message" in seen ? seen.message : "", /is for linux\/arm64; expected linux\/amd64/);
  registry.attach("none", []);
  registry.blobs.set("sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", json({}));
  const none = await look({ reference: `${registry.host}/os/a:none` });
  match("message" in none ? none.message : "", /does not name its platform/);
});

Deno.test("resolveImage: treats an unreachable registry as a non-retryable failure only at the last attempt", async () => {
  const gone = new FakeRegistry();
  const { host } = gone;
  await gone[Symbol.asyncDispose]();
  const failure = (attempt: number): Promise<unknown> =>
    look({ reference: `${host}/os/a:v1` }, attempt).catch((error: unknown) => error);
  for (const [attempt, isFinal] of [[1, false], [registryTries - 1, false], [registryTries, true]] as const) {
    const { type, nonRetryable, message } = await failure(attempt) as Record<string, unknown>;
    deepEqual([type, nonRetryable], ["RegistryUnreachable", isFinal]);
    match(String(message), /^Failed to read repository ".*\/os\/a": ".*" cannot be reached/);
  }
});

Deno.test("resolveImage: reports a missing object", async () => {
  const seen = await inActivity(() => resolveImage(new FakeKube().client, { object: { name: "a" } }));
  deepEqual(seen, { outcome: "Gone" });
});

const digest = `sha256:${"1".repeat(64)}`;
for (
  const [text, expected] of [
    ["quay.io/a/b:v1", { host: "quay.io", path: "a/b", repository: "quay.io/a/b", tag: "v1" }],
    [`localhost:5000/a@${digest}`, { host: "localhost:5000", path: "a", repository: "localhost:5000/a", digest }],
    [`q.io/a:v1@${digest}`, { host: "q.io", path: "a", repository: "q.io/a", tag: "v1", digest }],
    ["docker.io/debian:13", {
      ...{ host: "registry-1.docker.io", path: "library/debian", repository: "docker.io/debian", tag: "13" },
    }],
    ["[::1]:5000/a:b", { host: "[::1]:5000", path: "a", repository: "[::1]:5000/a", tag: "b" }],
    ["debian:13", undefined],
    ["library/debian:13", undefined],
    ["quay.io/a", undefined],
    ["quay.io/A:v1", undefined],
    ["quay.io/a//b:v1", undefined],
    ["quay.io/../v1:v1", undefined],
    ["quay.io:99999/a:v1", undefined],
    ["user@quay.io/a:v1", undefined],
  ] as const
) {
  Deno.test(`parseReference: returns the parts of ${text}, or undefined if it is invalid`, () =>
    deepEqual(parseReference(text), expected));
}

Deno.test("isLoopback: accepts only names and addresses that cannot be another machine", () => {
  const hosts = ["localhost", "localhost:5000", "127.0.0.1:80", "127.9.9.9", "[::1]:1"];
  deepEqual(hosts.map(isLoopback), hosts.map(() => true));
  const others = ["localhost.example", "127.0.0.1.example:80", "10.0.0.1", "[::2]", "example"];
  deepEqual(others.map(isLoopback), others.map(() => false));
});

Deno.test("durationMs: adds up days, hours, minutes and seconds", () => {
  deepEqual(["1d12h", "90m", "5s"].map(durationMs), [129_600_000, 5_400_000, 5_000]);
});

/** Tests the client of registries against registries that behave well or badly. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { RegistryAway, Unfit } from "../../../../activities/os_image/fault.ts";
import { Registry, type RegistryAccess } from "../../../../activities/os_image/registry/registry.ts";
import { FakeRegistry } from "../../../support/images/fake_registry.ts";

const path = "os/a";
const image = { content: "1" };

function open({ host }: FakeRegistry, access: RegistryAccess = {}): Registry {
  return new Registry({ host, path }, access);
}

function unfit(reason: string, words: RegExp): (error: unknown) => boolean {
  return (error) => {
    equal(error instanceof Unfit && error.reason, reason);
    match((error as Error).message, words);
    return true;
  };
}

function away(words: RegExp): (error: unknown) => boolean {
  return (error) => {
    equal(error instanceof RegistryAway, true);
    match((error as Error).message, words);
    return true;
  };
}

Deno.test("Registry: refuses a manifest with another digest", async () => {
  await using registry = new FakeRegistry();
  const { digest } = registry.put("v1", image);
  equal((await open(registry).manifest("v1"))?.digest, digest);
  registry.manifests.set(digest, new TextEncoder().encode("{}"));
  await rejects(open(registry).manifest(digest), unfit("ManifestInvalid", /instead of the requested sha256:/));
  equal(await open(registry).manifest("v2"), undefined);
});

Deno.test("Registry: stops reading a manifest at 4 MiB", async () => {
  await using registry = new FakeRegistry();
  let sent = 0;
  registry.intrude = () =>
    new Response(
      new ReadableStream({
        pull(stream): void {
          sent += 1;
          if (sent > 1_000) throw new Error("Failed to send more: the client read everything");
          stream.enqueue(new Uint8Array(64 * 1024));
        },
      }),
    );
  await rejects(open(registry).manifest("v1"), unfit("ManifestInvalid", /more than 4194304 bytes/));
});

Deno.test("Registry: follows a bounded number of redirects of a blob, without credentials, and only with https", async () => {
  await using registry = new FakeRegistry();
  await using storage = new FakeRegistry();
  const { blobs } = registry.put("v1", image);
  const [blob] = blobs;
  const digest = blob?.digest ?? "";
  storage.put("v1", image);
  const credentials = { username: "ada", password: "secret" };
  let to = `http://${storage.host}/v2/any/blobs/${digest}`;
  registry.intrude = (request) => {
    if (!request.headers.has("authorization")) {
      return new Response(null, { status: 401, headers: { "www-authenticate": 'Basic realm="a"' } });
    }
    return new Response(null, { status: 307, headers: { location: to } });
  };
  equal((await open(registry, { credentials }).blob(digest, 100))?.digest, digest);
  deepEqual(storage.requests.map(({ headers }) => headers.get("authorization")), [null]);
  for (const other of ["file:///etc/passwd", "https://127.0.0.1:1/", "http://a:b@127.0.0.1/", "http://["]) {
    to = other;
    await rejects(open(registry, { credentials }).blob(digest, 100), away(/to an invalid URL or another scheme/));
  }
  to = `http://${registry.host}/again`;
  await rejects(open(registry, { credentials }).blob(digest, 100), away(/redirects more than 5 times/));
});

Deno.test("Registry: requests a token to pull only its own repository, whatever scope the registry asks for, and sends credentials if it has some", async () => {
  await using registry = new FakeRegistry();
  const { digest } = registry.put("v1", image);
  registry.intrude = (request) => {
    const url = new URL(request.url);
    if (url.pathname === "/token") return Response.json({ token: "t-1" });
    if (request.headers.get("authorization") === "Bearer t-1") return undefined;
    const challenge = `Bearer realm="http://${registry.host}/token",service="s",scope="repository:others:push"`;
    return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
  };
  const credentials = { username: "ada", password: "secret:word" };
  equal((await open(registry, { credentials }).manifest("v1"))?.digest, digest);
  const asked = registry.requests.find(({ url }) => url.includes("/token"));
  const { searchParams } = new URL(asked?.url ?? "");
  deepEqual([searchParams.get("scope"), searchParams.get("service")], ["repository:os/a:pull", "s"]);
  equal(asked?.headers.get("authorization"), `Basic ${Buffer.from("ada:secret:word").toString("base64")}`);
  equal((await open(registry).manifest("v1"))?.digest, digest);
  equal(registry.requests.findLast(({ url }) => url.includes("/token"))?.headers.get("authorization"), null);
});

Deno.test("Registry: sends credentials to a token service only with https, except on loopback", async () => {
  await using registry = new FakeRegistry();
  for (const realm of ["http://tokens.example/", "ftp://127.0.0.1/", "", "http://ada:b@127.0.0.1/"]) {
    registry.intrude = () =>
      new Response(null, { status: 401, headers: { "www-authenticate": `Bearer realm="${realm}"` } });
    const credentials = { username: "ada", password: "secret" };
    await rejects(open(registry, { credentials }).manifest("v1"), unfit("RegistryDenied", /without a valid https URL/));
  }
});

for (
  const [status, expected] of [
    [401, unfit("RegistryDenied", /HTTP 401/)],
    [403, unfit("RegistryDenied", /HTTP 403/)],
    [429, away(/HTTP 429/)],
    [503, away(/HTTP 503/)],
    [400, away(/HTTP 400/)],
  ] as const
) {
  Deno.test(`Registry: describes HTTP ${status}, and quotes nothing of the response`, async () => {
    await using registry = new FakeRegistry();
    registry.intrude = () => new Response("secret: 1", { status });
    await rejects(open(registry).manifest("v1"), expected);
    await rejects(open(registry).manifest("v1"), ({ message }: Error) => !message.includes("secret"));
  });
}

Deno.test("Registry: reports a host that does not respond", async () => {
  const gone = new FakeRegistry();
  const { host } = gone;
  await gone[Symbol.asyncDispose]();
  await rejects(new Registry({ host, path }).manifest("v1"), away(/cannot be reached/));
});

Deno.test("Registry: reads the fallback tag when a registry does not support referrers", async () => {
  await using registry = new FakeRegistry();
  const { digest } = registry.put("v1", image);
  equal(await open(registry).referrers(digest), undefined);
  registry.manifests.set(digest.replace(":", "-"), new TextEncoder().encode('{"manifests":[]}'));
  equal(new TextDecoder().decode(await open(registry).referrers(digest)), '{"manifests":[]}');
  registry.intrude = ({ url }) => url.includes("/referrers/") ? Response.json({ manifests: [1] }) : undefined;
  equal(new TextDecoder().decode(await open(registry).referrers(digest)), '{"manifests":[1]}');
});

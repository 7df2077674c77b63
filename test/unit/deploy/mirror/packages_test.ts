import assert from "node:assert/strict";
import { get, MirrorSandbox, nowhere } from "./mirror_sandbox.ts";

type Handler = (path: string) => Response | Promise<Response>;

/** A server in place of Debian's archives, whose answers a test can change. */
class Debian implements AsyncDisposable {
  readonly asked: string[] = [];
  answer: Handler = (path) => new Response(`bytes of ${path}`);
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
      const path = new URL(url).pathname;
      this.asked.push(path);
      return this.answer(path);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

const deb = "/debian/pool/main/n/nfs/nfs_1.2%2bb1~deb12u1_amd64.deb";
const release = "/debian-security/dists/bookworm-security/InRelease";

Deno.test("mirror: forwards packages, and keeps them for a later mirror whose source is unreachable", async () => {
  await using programs = new MirrorSandbox();
  {
    await using debian = new Debian();
    const { packagesUrl } = await programs.start(debian.url);
    const answers = await Promise.all([1, 2, 3].map(() => get(packagesUrl + deb)));
    for (const answer of answers) assert.deepEqual(answer, { status: 200, text: `bytes of ${deb}` });
    assert.deepEqual(debian.asked, [deb]);
  }
  const { packagesUrl } = await programs.start();
  assert.deepEqual(await get(packagesUrl + deb), { status: 200, text: `bytes of ${deb}` });
  const { status, text } = await get(packagesUrl + release);
  assert.equal(status, 502);
  assert.ok(text.startsWith(`Failed to fetch "${nowhere}${release}": `), text);
  assert.match(text, /Connection refused/);
});

Deno.test("mirror: requests an index from the source at most once a minute, but a large index every time", async () => {
  await using programs = new MirrorSandbox();
  await using debian = new Debian();
  const { packagesUrl } = await programs.start(debian.url);
  debian.answer = () =>
    new Response("Suite: stable", { headers: { "last-modified": "Sat, 01 Aug 2026 10:00:00 GMT" } });
  const first = await fetch(packagesUrl + release);
  assert.equal(first.headers.get("last-modified"), "Sat, 01 Aug 2026 10:00:00 GMT");
  assert.equal(await first.text(), "Suite: stable");
  assert.deepEqual(await get(packagesUrl + release), { status: 200, text: "Suite: stable" });
  debian.answer = () => new Response("x".repeat(2_000_000));
  const large = "/debian/dists/bookworm/Contents-amd64";
  for (const _ of [1, 2]) assert.equal((await get(packagesUrl + large)).text.length, 2_000_000);
  assert.deepEqual(debian.asked, [release, large, large]);
});

Deno.test("mirror: keeps nothing of an interrupted download", async () => {
  await using programs = new MirrorSandbox();
  await using debian = new Debian();
  const { packagesUrl } = await programs.start(debian.url);
  debian.answer = () => {
    let pulls = 0;
    const breaks = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      if (pulls++ === 0) return controller.enqueue(new Uint8Array(1000));
      controller.error(new Error("cut"));
    };
    return new Response(new ReadableStream({ pull: breaks }), { headers: { "content-length": "5000" } });
  };
  assert.match((await get(packagesUrl + deb)).text, /^Failed to fetch "http\S+deb": /);
  debian.answer = () => new Response("whole");
  assert.deepEqual(await get(packagesUrl + deb), { status: 200, text: "whole" });
});

Deno.test("mirror: answers 404 for a file that the source does not have, and 502 when the source fails", async () => {
  await using programs = new MirrorSandbox();
  await using debian = new Debian();
  const { packagesUrl } = await programs.start(debian.url);
  debian.answer = () => new Response("gone", { status: 404 });
  assert.equal((await get(packagesUrl + deb)).status, 404);
  debian.answer = () => new Response("busy", { status: 503, statusText: "Service Unavailable" });
  const answer = await get(packagesUrl + deb);
  assert.equal(answer.status, 502);
  assert.match(answer.text, /^Failed to fetch "http\S+deb": the server returned 503 Service Unavailable\n$/);
});

Deno.test("mirror: forwards only Debian's archives, and no path outside its folder", async () => {
  await using programs = new MirrorSandbox();
  await using debian = new Debian();
  const { packagesUrl } = await programs.start(debian.url);
  const bad = ["/ubuntu/pool/x", "/debian/pool/..%2f..%2fx", "/debian/pool/.hidden", "/debian/pool//x", "/debian/"];
  for (const path of bad) assert.equal((await get(packagesUrl + path)).status, 404, path);
  assert.deepEqual(debian.asked, []);
});

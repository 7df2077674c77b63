import assert from "node:assert/strict";
import { keepPackages } from "../../../../deploy/local/mirror/packages.ts";
import { packageSource } from "../../../../deploy/local/mirror/package_source.ts";
import { existsSync } from "node:fs";
import { whileCollecting } from "../../../support/collect_garbage.ts";
import { eventually } from "../../../support/eventually.ts";

Deno.test("keepPackages: downloads a file once, also for requests at the moment when it is stored", async () => {
  const directory = Deno.makeTempDirSync();
  const asked: string[] = [];
  const ask = (path: string): Promise<Response> => {
    asked.push(path);
    return Promise.resolve(new Response(`bytes of ${path}`));
  };
  const send = keepPackages(directory, { ask, broken: () => new Response("broken", { status: 502 }) });
  const paths = Array.from({ length: 200 }, (_, n) => `debian/pool/${n}.deb`);
  const once = async (path: string): Promise<string> => (await send(new Request("http://mirror/"), path)).text();
  try {
    await Promise.all(paths.map((path) =>
      Promise.all([1, 2, 3, 4].map(async () => {
        assert.equal(await once(path), `bytes of ${path}`);
      }))
    ));
    assert.deepEqual(asked.toSorted(), paths.toSorted());
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("keepPackages: cancels a stalled download when its source is closed", async () => {
  const directory = Deno.makeTempDirSync();
  const pool = `${directory}/debian/pool`;
  const begun = Promise.withResolvers<void>();
  const pull = (body: ReadableStreamDefaultController): void => {
    body.enqueue(new Uint8Array(9));
    begun.resolve();
  };
  const stuck = (): Response => new Response(new ReadableStream({ start: pull }));
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, stuck);
  const ends = new AbortController();
  const kept = (): Deno.DirEntry[] => existsSync(pool) ? [...Deno.readDirSync(pool)] : [];
  try {
    const url = `http://127.0.0.1:${server.addr.port}`;
    const source = packageSource({ debian: url, "debian-security": url }, ends.signal);
    const answer = keepPackages(directory, source)(new Request("http://mirror/"), "debian/pool/stuck.deb");
    await whileCollecting(begun.promise);
    await eventually("the download", () => kept().length === 1);
    ends.abort(new Error("ended"));
    const { status } = await answer;
    assert.equal(status, 502);
    assert.deepEqual(kept(), []);
  } finally {
    await server.shutdown();
    await Deno.remove(directory, { recursive: true });
  }
});

import assert from "node:assert/strict";
import { keepPackages } from "../../../../deploy/local/mirror/kept_packages.ts";

Deno.test("keepPackages downloads a file once, also for those who ask in the moment in which it is there", async () => {
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

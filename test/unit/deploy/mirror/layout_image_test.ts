import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveLayout } from "../../../../deploy/local/mirror/layout_image.ts";

const manifest = JSON.stringify({ schemaVersion: 2 });
const digest = `sha256:${createHash("sha256").update(manifest).digest("hex")}`;

async function withLayout(
  test: (ask: (path: string) => Promise<Response | undefined>) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-layout-"));
  try {
    await mkdir(join(folder, "blobs", "sha256"), { recursive: true });
    await writeFile(join(folder, "index.json"), JSON.stringify({ manifests: [{ digest }] }));
    await writeFile(join(folder, "blobs", digest.replace(":", "/")), manifest);
    await writeFile(join(folder, "secret"), "not for you");
    const answer = await serveLayout({ folder, repository: "a/b", tags: ["1.0.0", "1.0.1"] });
    await test((path) => answer(new Request(`http://mirror/${path}`), path));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

Deno.test("serveLayout: serves an image by each of its tags and by its digest", async () => {
  await withLayout(async (ask) => {
    for (const reference of ["1.0.0", "1.0.1", digest]) {
      const answer = await ask(`v2/a/b/manifests/${reference}`);
      assert.equal(await answer?.text(), manifest);
      assert.equal(answer?.headers.get("docker-content-digest"), digest);
      assert.equal(answer?.headers.get("content-type"), "application/vnd.oci.image.manifest.v1+json");
    }
    const blob = await ask(`v2/a/b/blobs/${digest}`);
    assert.deepEqual([await blob?.text(), blob?.headers.get("content-length")], [manifest, `${manifest.length}`]);
  });
});

Deno.test("serveLayout: serves no unknown tag, blob or repository, and no file outside the layout", async () => {
  await withLayout(async (ask) => {
    const others = [
      "v2/a/b/manifests/1.0.2",
      "v2/a/b/blobs/..%2F..%2Fsecret",
      "v2/a/b/blobs/1.0.0",
      `v2/c/manifests/${digest}`,
    ];
    for (const path of [...others, `v2/a/b/blobs/sha256:${"0".repeat(64)}`]) {
      assert.equal(await ask(path), undefined, path);
    }
  });
});

import { deepEqual } from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BaseImage, baseImage } from "../../../../deploy/release/image/base_image.ts";
import { writeProvenance } from "../../../../deploy/release/provenance.ts";

const source = { version: "1.2.3", commit: "c".repeat(40), time: 0, isChanged: false };
const [pinned, own] = ["a".repeat(64), "b".repeat(64)];

/** The dependencies that the statement names, without source, deno.lock and Deno. */
async function stated(bases: readonly BaseImage[]): Promise<unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), "provenance-"));
  try {
    await writeFile(join(folder, "file"), "");
    const parameters = { targets: [], without: [], snapshot: "" };
    const name = await writeProvenance(folder, ["file"], { source, parameters, bases });
    const { predicate } = JSON.parse(await readFile(join(folder, name), "utf8"));
    return predicate.buildDefinition.resolvedDependencies.slice(3);
  } finally {
    await rm(folder, { recursive: true });
  }
}

Deno.test("fault S9: provenance: states the base images of the container image, and no images for a release without an image", async () => {
  const bases = [
    baseImage(`debian:x@sha256:${pinned}`, { Id: `sha256:${own}`, RepoDigests: [`debian@sha256:${own}`] }),
    baseImage("mirror.example/debian:x", {
      Id: `sha256:${own}`,
      RepoDigests: [`mirror.example/debian@sha256:${pinned}`],
    }),
    baseImage("ostler-deno:2.9.6-amd64", { Id: `sha256:${own}` }),
  ];
  deepEqual(await stated(bases), [
    { name: "debian:x", digest: { sha256: pinned } },
    { name: "mirror.example/debian:x", digest: { sha256: pinned } },
    { name: "ostler-deno:2.9.6-amd64", digest: { sha256: own } },
  ]);
  deepEqual(await stated([]), []);
});

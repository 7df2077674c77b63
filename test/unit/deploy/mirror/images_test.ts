import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Mirror } from "../../../../deploy/local/mirror/mirror.ts";
import { get, MirrorSandbox } from "./mirror_sandbox.ts";

/** Pulls one image as a container runtime does, checking each digest; returns its config and its layer's tar. */
async function pull({ url }: Mirror, image: string): Promise<{ config: ImageConfig; layer: Uint8Array }> {
  const [, repository, tag] = /^[^/]+\/(.+):(.+)$/.exec(image) ?? [];
  const base = `${url}/v2/${repository}`;
  const head = await fetch(`${base}/manifests/${tag}`, { method: "HEAD" });
  const digest = head.headers.get("docker-content-digest") ?? "";
  const manifest = JSON.parse(text(await blob(`${base}/manifests/${digest}`, digest)));
  assert.equal(manifest.mediaType, head.headers.get("content-type"));
  const config = JSON.parse(text(await blob(`${base}/blobs/${manifest.config.digest}`, manifest.config.digest)));
  const layer = await blob(`${base}/blobs/${manifest.layers[0].digest}`, manifest.layers[0].digest);
  assert.equal(layer.length, manifest.layers[0].size);
  assert.deepEqual(config.rootfs.diff_ids, [manifest.layers[0].digest]);
  return { config, layer };
}

interface ImageConfig {
  readonly os: string;
  readonly config: { readonly Entrypoint: string[]; readonly User: string };
}

async function blob(url: string, digest: string): Promise<Uint8Array> {
  const response = await fetch(url);
  const bytes = new Uint8Array(await response.arrayBuffer());
  assert.equal(response.status, 200, url);
  assert.equal(`sha256:${createHash("sha256").update(bytes).digest("hex")}`, digest);
  return bytes;
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

for (const [key, program] of [["pause", "pause"], ["podServer", "pod-server"]] as const) {
  Deno.test(`mirror: serves the image ${program} as a registry`, async () => {
    await using programs = new MirrorSandbox();
    const mirror = await programs.start();
    const { config, layer } = await pull(mirror, mirror.images[key]);
    assert.deepEqual([config.os, config.config.Entrypoint], ["linux", [`/${program}`]]);
    const path = `${programs.folder}/layer.tar`;
    await Deno.writeFile(path, layer);
    const { stdout } = await new Deno.Command("tar", { args: ["-tvf", path, "--numeric-owner"] }).output();
    assert.match(new TextDecoder().decode(stdout), new RegExp(`^-rwxr-xr-x 0/0 .* ${program}\n$`));
    const packed = await new Deno.Command("tar", { args: ["-xOf", path, program] }).output();
    assert.equal(new TextDecoder().decode(packed.stdout), `the program ${program}\n`);
  });
}

Deno.test("mirror: answers 404 for unknown images, and accepts no pushes", async () => {
  await using programs = new MirrorSandbox();
  const { url } = await programs.start();
  for (const path of ["ostler/pause/manifests/2", "ostler/other/manifests/1", "ostler/pause/blobs/sha256:00"]) {
    const { status, text } = await get(`${url}/v2/${path}`);
    assert.deepEqual([status, JSON.parse(text).errors[0].code], [404, "NAME_UNKNOWN"], path);
  }
  const upload = await fetch(`${url}/v2/ostler/pause/blobs/uploads/`, { method: "POST" });
  await upload.body?.cancel();
  assert.equal(upload.status, 405);
});

Deno.test("mirror: does not serve an image under the name of another repository", async () => {
  await using programs = new MirrorSandbox();
  const { url } = await programs.start();
  const manifest = await get(`${url}/v2/ostler/pause/manifests/1`);
  const [{ digest }] = JSON.parse(manifest.text).layers;
  assert.equal((await get(`${url}/v2/ostler/pod-server/blobs/${digest}`)).status, 404);
});

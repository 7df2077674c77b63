import assert from "node:assert/strict";
import { architecture } from "../../../../deploy/local/mirror/release_files.ts";
import type { Mirror } from "../../../../deploy/local/mirror/mirror.ts";
import { kubeletVersions } from "../../../../deploy/local/tools/machine_versions.ts";
import { BootSandbox } from "../../../support/boot_sandbox.ts";
import { renderFacts } from "../../../support/render_facts.ts";
import { get, MirrorSandbox } from "./mirror_sandbox.ts";

/** A machine whose profile names this mirror. */
async function machine({ url, digests }: Mirror, kubelet: string, profile = "osp-debian"): Promise<BootSandbox> {
  const binariesDigests = Object.fromEntries(digests.split(",").map((each) => each.split("=")));
  const facts = renderFacts({ settings: { binariesUrl: url, binariesDigests }, deployment: { kubelet } });
  const sandbox = await BootSandbox.create(profile, "provisioning", facts);
  await sandbox.write("/var/tmp/x", "");
  await sandbox.write("/usr/local/bin/x", "");
  return sandbox;
}

for (const [tool, version] of Object.entries(kubeletVersions)) {
  Deno.test(`mirror: serves ${tool} and its related files to a machine`, async () => {
    await using programs = new MirrorSandbox();
    const mirror = await programs.start();
    await using sandbox = await machine(mirror, version);
    const { code, stdout, stderr } = await sandbox.run("/opt/bin/install-binaries");
    assert.equal(code, 0, stdout + stderr);
    assert.equal(await sandbox.read("/opt/bin/kubelet"), `the program ${tool}\n`);
    for (const name of ["containerd", "containerd-shim-runc-v2", "ctr", "runc", "crictl"]) {
      assert.equal(await sandbox.read(`/opt/bin/${name}`), `the program ${name}\n`);
    }
    for (const name of ["bridge", "host-local", "loopback", "portmap", "ptp"]) {
      assert.equal(await sandbox.read(`/opt/cni/bin/${name}`), `the program cni-${name}\n`);
    }
    assert.ok(mirror.requests().every((line) => line.endsWith(" 200")), mirror.requests().join("\n"));
  });
}

Deno.test("mirror: with the fault wrong-bytes, makes a machine refuse the file", async () => {
  await using programs = new MirrorSandbox();
  const mirror = await programs.start();
  await using sandbox = await machine(mirror, "1.36.1");
  await mirror.fault({ kind: "wrong-bytes", file: `runc.${architecture}` });
  const { code, stderr } = await sandbox.run("/opt/bin/install-binaries");
  assert.equal(code, 1);
  assert.match(stderr, /Cannot install binaries: http\S+\/runc\.\w+ does not have the given digest\n$/);
  assert.equal(await sandbox.read("/opt/bin/runc"), undefined);
  await mirror.fault(undefined);
  assert.equal((await sandbox.run("/opt/bin/install-binaries")).code, 0);
});

Deno.test("mirror: serves only the kubelets that were built", async () => {
  await using programs = new MirrorSandbox();
  const { url } = await programs.start();
  const built = `${url}/v1.36.1/bin/linux/${architecture}/kubelet`;
  const { text } = await get(`${built}.sha256`);
  assert.match(text, /^[0-9a-f]{64}$/);
  const head = await fetch(built, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("content-length")], [200, "25"]);
  assert.equal((await get(`${url}/v1.36.2/bin/linux/${architecture}/kubelet`)).status, 404);
});

Deno.test("mirror: rejects the fault wrong-bytes for an unknown file", async () => {
  await using programs = new MirrorSandbox();
  const mirror = await programs.start();
  const message = /^Error: Unknown file "kublet": accepted are containerd-static-.*, kubelet$/;
  await assert.rejects(mirror.fault({ kind: "wrong-bytes", file: "kublet" }), message);
});

Deno.test("mirror: closes and refuses connections while down, and comes back at the same address", async () => {
  await using programs = new MirrorSandbox();
  const mirror = await programs.start();
  const port = Number(new URL(mirror.url).port);
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode("GET /v2/ HTTP/1.1\r\nhost: mirror\r\n\r\n"));
  const readSome = (): Promise<number | null> => connection.read(new Uint8Array(1000)).catch(() => null);
  assert.ok(await readSome());
  await mirror.fault({ kind: "down" });
  await assert.rejects(Deno.connect({ hostname: "127.0.0.1", port }), Deno.errors.ConnectionRefused);
  while (await readSome() !== null);
  await mirror.fault(undefined);
  assert.equal((await get(`${mirror.url}/v2/`)).status, 200);
  assert.deepEqual(mirror.requests(), ["GET /v2/ 200", "GET /v2/ 200"]);
});

Deno.test("mirror: reuses the files of a previous mirror, and rebuilds only changed files", async () => {
  await using programs = new MirrorSandbox();
  const kept = (): string[] => [...Deno.readDirSync(programs.files)].map(({ name }) => name).sort();
  await programs.start();
  const before = kept();
  await programs.start();
  assert.deepEqual(kept(), before);
  await Deno.writeTextFile(programs.programs.runc, "a newer runc");
  const { url } = await programs.start();
  assert.equal(kept().length, before.length + 1);
  assert.equal((await get(`${url}/runc/v1.4.3/runc.${architecture}`)).text, "a newer runc");
});

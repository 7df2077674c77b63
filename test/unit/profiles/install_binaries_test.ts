import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { BootSandbox, type Ending } from "../../support/boot_sandbox.ts";
import { renderFacts } from "../../support/render_facts.ts";

/** A mirror that has every requested file, in the layout of the originals. */
class Mirror implements AsyncDisposable {
  readonly asked: string[] = [];
  /** Names of files for which the mirror serves wrong bytes. */
  readonly tampered = new Set<string>();
  /** Whether the mirror is empty. */
  missing = false;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #archive: Uint8Array;

  constructor(archive: Uint8Array) {
    this.#archive = archive;
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => this.#answer(url));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  #answer(url: string): Response {
    const path = new URL(url).pathname;
    this.asked.push(path);
    if (this.missing) return new Response(null, { status: 404 });
    if (this.tampered.has(path.split("/").at(-1) ?? "")) return new Response("other bytes");
    const checked = /^(.*)\.sha256(sum)?$/.exec(path);
    if (checked === null) return new Response(this.#bytes(path) as Uint8Array<ArrayBuffer>);
    const [, file = "", isList] = checked;
    if (file.endsWith("/runc")) {
      return new Response(["amd64", "arm64"].map((arch) => `${this.#sum(`${file}.${arch}`)} *runc.${arch}\n`).join(""));
    }
    return new Response(isList ? `${this.#sum(file)}  ${file.split("/").at(-1)}\n` : this.#sum(file));
  }

  /** Returns the digests that an administrator takes from a trusted place, for these paths. */
  digestsOf(paths: readonly string[]): Record<string, string> {
    return Object.fromEntries(paths.map((path) => [path, this.#sum(`/${path}`)]));
  }

  #sum(path: string): string {
    return createHash("sha256").update(this.#bytes(path)).digest("hex");
  }

  #bytes(path: string): Uint8Array {
    return /\.t(ar\.)?gz$/.test(path) ? this.#archive : new TextEncoder().encode(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Returns a tar archive with programs of containerd, crictl and the CNI plugins, which are published as archives. */
async function archive(): Promise<Uint8Array> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/bin`);
    for (const name of ["bin/containerd", "crictl", "bridge"]) await Deno.writeTextFile(`${folder}/${name}`, name);
    const args = ["--create", "--gzip", "--directory", folder, "bin", "crictl", "bridge"];
    return (await new Deno.Command("tar", { args }).output()).stdout;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const paths = ["amd64", "arm64"].flatMap((arch) => [
  `containerd/v2.2.9/containerd-static-2.2.9-linux-${arch}.tar.gz`,
  `runc/v1.4.3/runc.${arch}`,
  `cni/v1.9.1/cni-plugins-linux-${arch}-v1.9.1.tgz`,
  `crictl/v1.34.0/crictl-v1.34.0-linux-${arch}.tar.gz`,
  `v1.34.2/bin/linux/${arch}/kubelet`,
]);

async function machine(mirror: Mirror, type: string, given = paths): Promise<BootSandbox> {
  const settings = { binariesUrl: mirror.url, binariesDigests: mirror.digestsOf(given) };
  const facts = renderFacts({ settings, deployment: { kubelet: "1.34.2" } });
  const sandbox = await BootSandbox.create("osp-ubuntu", "provisioning", facts);
  await sandbox.command("uname", `echo ${type}`);
  await sandbox.write("/var/tmp/x", "");
  return sandbox;
}

function tarErrors(...errors: string[]): string {
  return `printf 'tar: %s\\n' '${errors.join("' '")}' >&2; exit 2`;
}

function install(sandbox: BootSandbox): Promise<Ending> {
  return sandbox.run("/opt/bin/install-binaries");
}

for (const [type, arch] of [["x86_64", "amd64"], ["aarch64", "arm64"]] as const) {
  Deno.test(`install-binaries: downloads all binaries for ${arch} from the mirror, and nothing on a second run`, async () => {
    await using mirror = new Mirror(await archive());
    await using sandbox = await machine(mirror, type);
    const { code, stdout, stderr } = await install(sandbox);
    assert.equal(code, 0, stdout + stderr);
    const files = mirror.asked.filter((path) => !/sha256/.test(path));
    assert.deepEqual(files.map((path) => path.replaceAll(/v?\d+\.\d+\.\d+/g, "V")), [
      `/containerd/V/containerd-static-V-linux-${arch}.tar.gz`,
      `/runc/V/runc.${arch}`,
      `/cni/V/cni-plugins-linux-${arch}-V.tgz`,
      `/crictl/V/crictl-V-linux-${arch}.tar.gz`,
      `/V/bin/linux/${arch}/kubelet`,
    ]);
    for (const path of ["/opt/bin/containerd", "/opt/bin/runc", "/opt/cni/bin/bridge", "/opt/bin/crictl"]) {
      assert.notEqual(await sandbox.read(path), undefined, path);
    }
    assert.equal(await sandbox.read("/opt/bin/kubelet"), `/v1.34.2/bin/linux/${arch}/kubelet`);
    const before = mirror.asked.length;
    assert.equal((await install(sandbox)).code, 0);
    assert.equal(mirror.asked.length, before);
  });
}

Deno.test("install-binaries: does not install a file with a wrong digest, and the next run continues with that file", async () => {
  await using mirror = new Mirror(await archive());
  await using sandbox = await machine(mirror, "x86_64");
  mirror.tampered.add("runc.amd64");
  const { code, stderr } = await install(sandbox);
  assert.equal(code, 1);
  assert.match(stderr, /Cannot install binaries: http.*\/runc\.amd64 does not have the given digest\n$/);
  assert.equal(await sandbox.read("/opt/bin/runc"), undefined);
  mirror.tampered.clear();
  mirror.asked.length = 0;
  assert.equal((await install(sandbox)).code, 0);
  assert.equal(mirror.asked.some((path) => path.includes("containerd-static")), false);
  assert.notEqual(await sandbox.read("/opt/bin/runc"), undefined);
});

Deno.test("fault S8: install-binaries: does not trust the checksum that an http mirror publishes", async () => {
  await using mirror = new Mirror(await archive());
  await using sandbox = await machine(mirror, "x86_64", paths.filter((path) => !path.endsWith("/kubelet")));
  const { code, stderr } = await install(sandbox);
  assert.equal(code, 1);
  const path = "v1.34.2/bin/linux/amd64/kubelet";
  assert.match(
    stderr,
    new RegExp(`${mirror.url}/${path} is not https, and binaries-digests has no digest of ${path}\n$`),
  );
  assert.equal(await sandbox.read("/opt/bin/kubelet"), undefined);
});

Deno.test("fault S8: install-binaries: refuses a program of a mirror that differs from its pinned digest", async () => {
  await using mirror = new Mirror(await archive());
  const isPinned = (path: string): boolean => /^(runc|cni|crictl)\//.test(path);
  for (const pinned of paths.filter((path) => isPinned(path) && path.includes("amd64"))) {
    await using sandbox = await machine(mirror, "x86_64", paths.filter((path) => path !== pinned));
    const { code, stderr } = await install(sandbox);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`${mirror.url}/${pinned} does not have the given digest\n$`));
  }
});

Deno.test("fault S8: install-binaries: pins version and digest of crictl for each supported kubelet", async () => {
  for (let minor = 30; minor <= 36; minor++) {
    const facts = renderFacts({ deployment: { kubelet: `1.${minor}.2` } });
    await using sandbox = await BootSandbox.create("osp-ubuntu", "provisioning", facts);
    const version = `v1.${minor}.0`;
    assert.match(await sandbox.read("/etc/ostler/setup.env") ?? "", new RegExp(`^CRICTL_VERSION="${version}"$`, "m"));
    const pinned = [...(await sandbox.read("/etc/ostler/digests") ?? "").matchAll(/^[0-9a-f]{64} {2}(crictl\S+)$/gm)];
    assert.deepEqual(
      pinned.map(([, path]) => path),
      ["amd64", "arm64"].map((arch) => `crictl/${version}/crictl-${version}-linux-${arch}.tar.gz`),
    );
  }
});

Deno.test("install-binaries: reports in one line which file is missing or wrong, and why", async () => {
  await using mirror = new Mirror(await archive());
  await using sandbox = await machine(mirror, "x86_64");
  await sandbox.command(
    "tar",
    tarErrors("bin/a: Wrote only 4 of 10 bytes", "bin/b: Cannot write: No space left", "Exiting"),
  );
  const lastLine = async (): Promise<string> => (await install(sandbox)).stderr.trim().split("\n").at(-1) ?? "";
  const file = /containerd-static-\d\S+-linux-amd64\.tar\.gz/.source;
  assert.match(
    await lastLine(),
    new RegExp(
      `^Cannot install binaries: ${file} does not unpack to \\S+/opt: tar: bin/b: Cannot write: No space left$`,
    ),
  );
  await sandbox.command("tar", tarErrors("bin/a: Cannot open", "Exiting"));
  assert.match(await lastLine(), / does not unpack to \S+: tar: bin\/a: Cannot open$/);
  mirror.missing = true;
  assert.match(
    await lastLine(),
    new RegExp(`^Cannot install binaries: ${mirror.url}/containerd/v\\S+/${file} does not download: curl: .* 404$`),
  );
});

Deno.test("install-binaries: refuses a CPU architecture that has no binaries", async () => {
  await using mirror = new Mirror(await archive());
  await using sandbox = await machine(mirror, "riscv64");
  const { code, stderr } = await install(sandbox);
  assert.equal(code, 1);
  assert.match(stderr, /Cannot install binaries: machine type "riscv64" is not supported/);
  assert.deepEqual(mirror.asked, []);
});

/** A host that the real ostree has deployed, and a remote with two commits for it, served by HTTP. */
import { execFileSync } from "node:child_process";
import { createReadStream } from "node:fs";
import { chmod, copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { FakeOsHost } from "./fake_os_host.ts";

const folder = (name: string): string => fileURLToPath(new URL(`os_host/${name}`, import.meta.url));
// This setting lets the test remove deployments again.
const env = { ...process.env, OSTREE_SYSROOT_DEBUG: "mutable-deployments" };
const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] }).trim();

/** Why the real ostree cannot be run here; "" if it can. */
export function ostreeMissing(): string {
  try {
    run("ostree", "--version");
    run("unshare", "--mount", "true");
    return "";
  } catch (error) {
    return `ostree and unshare do not run here: ${(error as Error).message.split("\n")[0]}`;
  }
}

export class OstreeHost implements AsyncDisposable {
  readonly host: FakeOsHost;
  /** Checksums of the remote's commits, as digests. */
  readonly commits: string[] = [];
  /** Whether the remote leaves new requests without a response. */
  isSilent = false;
  readonly #server: Server;

  private constructor(host: FakeOsHost) {
    this.host = host;
    this.#server = createServer(({ url = "" }, response) => {
      if (this.isSilent) return;
      const file = createReadStream(this.#at(`remote${url}`));
      file.on("error", () => response.writeHead(404).end());
      file.pipe(response);
    });
  }

  static async make(): Promise<OstreeHost> {
    const made = new OstreeHost(await FakeOsHost.make("ostree", `${folder("real_ostree")}:${folder("bin")}`));
    await made.#publish();
    await made.#install();
    return made;
  }

  #at(name: string): string {
    return this.host.at(name);
  }

  async #publish(): Promise<void> {
    const tree = this.#at("tree");
    await plant(tree);
    run("ostree", `--repo=${this.#at("remote")}`, "init", "--mode=archive");
    for (const text of ["one", "two"]) {
      await writeFile(join(tree, "usr/etc/release"), text);
      this.commits.push(`sha256:${run("ostree", `--repo=${this.#at("remote")}`, "commit", "--branch=os", tree)}`);
    }
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async #install(): Promise<void> {
    const [sysroot, first = ""] = [this.#at("sysroot"), this.commits[0]?.slice("sha256:".length)];
    const { port } = this.#server.address() as AddressInfo;
    const repo = `--repo=${sysroot}/ostree/repo`;
    await mkdir(sysroot);
    run("ostree", "admin", "init-fs", "--modern", sysroot);
    run("ostree", "admin", `--sysroot=${sysroot}`, "os-init", "debian");
    run("ostree", repo, "config", "set", "sysroot.bootloader", "none");
    run("ostree", repo, "remote", "add", "--no-gpg-verify", "site", `http://127.0.0.1:${port}`);
    run("ostree", repo, "pull-local", this.#at("remote"), first);
    run("ostree", "admin", `--sysroot=${sysroot}`, "deploy", "--os=debian", first);
    await this.host.put("running", `${first}.0`);
  }

  /** Boots the first deployment of the list, as a boot loader would. */
  async boot(): Promise<void> {
    const listed = run("ostree", "admin", `--sysroot=${this.#at("sysroot")}`, "status");
    const [, first = ""] = /([0-9a-f]{64}\.\d+)/.exec(listed) ?? [];
    await this.host.put("running", first);
    await this.host.elapse();
  }

  /** Stops the remote. */
  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.host[Symbol.asyncDispose]();
  }
}

/** Writes a tree that ostree can deploy, with ostree itself in it. */
async function plant(tree: string): Promise<void> {
  for (
    const name of [
      "usr/lib/modules/6.1",
      "usr/etc",
      "usr/bin",
      "usr/lib64",
      "sysroot",
      "boot",
      "run",
      "proc",
      "dev",
      "var",
      "tmp",
    ]
  ) {
    await mkdir(join(tree, name), { recursive: true });
  }
  for (const [name, target] of [["lib", "usr/lib"], ["lib64", "usr/lib64"], ["ostree", "sysroot/ostree"]] as const) {
    await symlink(target, join(tree, name));
  }
  await writeFile(join(tree, "usr/lib/modules/6.1/vmlinuz"), "kernel");
  await writeFile(join(tree, "usr/lib/os-release"), "ID=debian\n");
  const libraries = [...run("ldd", "/usr/bin/ostree").matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
  for (const path of ["/usr/bin/ostree", ...libraries]) {
    const place = join(tree, path.replace(/^\/(lib|lib64)\//, "/usr/$1/"));
    await mkdir(dirname(place), { recursive: true });
    await copyFile(path, place);
    await chmod(place, 0o755);
  }
}

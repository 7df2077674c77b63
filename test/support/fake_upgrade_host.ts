/**
 * A control plane whose tools are strict fakes over files, and a server from which it downloads kubeadm, kubelet and
 * kubectl; it runs the real scripts that execute orders.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Component } from "../../activities/kubernetes/components.ts";
import { renewalHandOf, upgradeHandOf, upgradeVerdictIn } from "../../activities/kubernetes/upgrade_hand.ts";
import type { HandOrder } from "../../activities/os/hand.ts";
import type { RenewalOrder, UpgradeOrder, UpgradeOutcome } from "../../workflows/contracts/mod.ts";
import { handScripts } from "./hand_scripts.ts";

const folder = fileURLToPath(new URL("upgrade_host/", import.meta.url));
/** Folders of the host, below its root. */
const folders = [
  ...["etc/kubernetes/manifests", "etc/kubernetes/pki/etcd", "opt/bin", "var/lib/kubelet", "var/lib/ostler"],
  ...["var/log/pods", "proc"],
];

/** The version that orders install. */
export const wanted = "v1.36.1";
const programs = ["kubeadm", "kubelet", "kubectl"] as const;
type Program = typeof programs[number];

/** How the server answers a download. */
type Serving = "whole" | "cut" | "hangs" | "stalls" | "ignores ranges" | "other content" | "missing";

/** Makes a file longer than the buffers of curl, so that a killed download leaves a partial file. */
const padding = `# ${"padding ".repeat(20_000)}\n`;

/**
 * Returns a kubelet: a script that only prints its version, because the fake host runs it for nothing else. The fake
 * tools read from a word in `more` how the kubelet behaves when it starts.
 */
export function kubeletOf(version: string, more = ""): string {
  return `#!/bin/sh\n# ${more}\necho "Kubernetes ${version}"\n${padding}`;
}

export class FakeUpgradeHost implements AsyncDisposable {
  readonly #directory: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  /** The served contents. */
  readonly contents: Record<Program, string>;
  serving: Serving = "whole";
  /** The start of each requested range of bytes, in order; "" for a request of a whole file. */
  readonly requests: string[] = [];

  private constructor(directory: string) {
    this.#directory = directory;
    this.contents = {
      kubeadm: readFileSync(join(folder, "kubeadm"), "utf8").replaceAll("VERSION", wanted) + padding,
      kubelet: kubeletOf(wanted),
      kubectl: `#!/bin/sh\necho ${wanted}\n`,
    };
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => undefined, onError: () => new Response() };
    this.#server = Deno.serve(options, (request) => this.#answer(request));
  }

  /** Creates a host with its own folder of state, which runs the kubelet v1.35.3. */
  static async make(): Promise<FakeUpgradeHost> {
    const directory = await mkdtemp(join(tmpdir(), "ostler-upgrade-"));
    for (const each of ["units", "hands", ...folders.map((name) => `root/${name}`)]) {
      await mkdir(join(directory, each), { recursive: true });
    }
    for (const [name, text] of Object.entries(handScripts())) await writeFile(join(directory, "hands", name), text);
    const host = new FakeUpgradeHost(directory);
    for (const [name, text] of Object.entries({ systemd: "", comms: "systemd\nkubelet\n", lacks: "" })) {
      await host.put(name, text);
    }
    for (const [name, text] of Object.entries({ kubelet_pid: "1\n", kubelet_pids: "0\n" })) await host.put(name, text);
    await host.put("root/opt/bin/kubelet", kubeletOf("v1.35.3"));
    await host.put("root/var/lib/kubelet/config.yaml", "healthzPort: 10248\n");
    await host.#exec(["start_kubelet"]);
    return host;
  }

  #answer(request: Request): Response {
    const name = new URL(request.url).pathname.split("/").at(-1) as Program;
    const text = this.contents[name];
    if (this.serving === "missing") return new Response("not found", { status: 404 });
    const bytes = new TextEncoder().encode(this.serving === "other content" ? `${text}# other\n` : text);
    const [, from = ""] = /^bytes=(\d+)-$/.exec(request.headers.get("range") ?? "") ?? [];
    this.requests.push(from);
    const isPart = from !== "" && this.serving !== "ignores ranges";
    if (isPart && Number(from) >= bytes.length) return new Response("", { status: 416 });
    const body = isPart ? bytes.slice(Number(from)) : bytes;
    const headers = {
      "content-length": String(body.length),
      ...(isPart ? { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}),
    };
    const content = this.serving === "cut" || this.serving === "hangs"
      ? begun(body.slice(0, body.length / 2), this.serving === "cut")
      : this.serving === "stalls"
      ? begun(body.slice(0, 500), false)
      : body;
    return new Response(content, { status: isPart ? 206 : 200, headers });
  }

  /** Returns the list of components that an order installs, with hashes and URLs of the server's files. */
  components(): Component[] {
    return programs.map((name) => {
      const hash = `sha256:${createHash("sha256").update(this.contents[name]).digest("hex")}`;
      return { path: `/opt/bin/${name}`, hash, url: `http://127.0.0.1:${this.#server.addr.port}/release/${name}` };
    });
  }

  order(verb: UpgradeOrder["verb"], more: Partial<UpgradeOrder> = {}): UpgradeOrder {
    return {
      ...{ object: { name: "version" }, node: "cp-1", uid: "uid-of-cp-1", verb, version: wanted, digest: "d" },
      ...{ token: "t-1", until: Date.now() + 60_000 },
      ...more,
    };
  }

  /** Executes an order as its pod would. */
  async give(
    verb: UpgradeOrder["verb"],
    more: Partial<UpgradeOrder> = {},
    { components = this.components(), stall = 2 }: { components?: Component[]; stall?: number } = {},
  ): Promise<UpgradeOutcome> {
    const said = await this.run(this.order(verb, more), { components, stall });
    const outcome = upgradeVerdictIn(said);
    if (!outcome) throw new Error(`Failed to parse the output of the hand: ${JSON.stringify(said)}`);
    return outcome;
  }

  /** Executes an order to renew certificates as its pod would. */
  async renew(
    more: Partial<RenewalOrder> = {},
    { stall = 2, cancel }: { stall?: number; cancel?: AbortSignal } = {},
  ): Promise<UpgradeOutcome | undefined> {
    const { verb: _, digest: __, ...order } = { ...this.order("Plan"), ...more };
    const said = await this.#run(renewalHandOf(order), { stall, ...(cancel ? { cancel } : {}) });
    const outcome = upgradeVerdictIn(said);
    if (!outcome && !cancel) throw new Error(`Failed to parse the output of the hand: ${JSON.stringify(said)}`);
    return outcome;
  }

  /** Writes kubeadm, and the keys of the certificate authorities, as they exist after `kubeadm init`. */
  async isOfKubeadm(version: string = wanted): Promise<void> {
    const kubeadm = readFileSync(join(folder, "kubeadm"), "utf8").replaceAll("VERSION", version);
    await this.put("root/opt/bin/kubeadm", kubeadm);
    for (const each of ["ca", "front-proxy-ca", "etcd/ca"]) {
      await this.put(`root/etc/kubernetes/pki/${each}.key`, "key");
    }
  }

  /**
   * Runs the script with which a hand executes an order; returns its output. On cancellation the script is killed with
   * all its processes, as when its pod is deleted.
   */
  run(
    order: UpgradeOrder,
    { components, ...run }: { components: Component[]; stall: number; cancel?: AbortSignal },
  ): Promise<string> {
    return this.#run(upgradeHandOf(order, components), run);
  }

  #run(
    hand: HandOrder<UpgradeOutcome>,
    { stall, cancel }: { stall: number; cancel?: AbortSignal },
  ): Promise<string> {
    const args = hand.args(hand.until).map((word, at) => at === 4 ? String(stall) : word);
    const child = spawn("/bin/sh", [this.at("hands/upgrade.sh"), ...args], {
      ...{ env: this.#environment(), stdio: ["ignore", "pipe", "inherit"], detached: true },
    });
    cancel?.addEventListener("abort", () => child.pid && process.kill(-child.pid, "SIGKILL"));
    const { promise, resolve } = Promise.withResolvers<string>();
    let said = "";
    child.stdout?.on("data", (chunk) => said += String(chunk));
    child.on("close", () => resolve(said));
    return promise;
  }

  #environment(): Record<string, string> {
    return { PATH: `${join(folder, "bin")}:${process.env["PATH"]}`, HOST: this.#directory };
  }

  async #exec([program = "", ...args]: string[]): Promise<void> {
    const child = spawn(join(folder, "bin", program), args, { env: this.#environment(), stdio: "inherit" });
    await new Promise((resolve) => child.on("close", resolve));
  }

  /** Returns the path of a file of the host's state. */
  at(name: string): string {
    return join(this.#directory, name);
  }

  async put(name: string, text: string): Promise<void> {
    await writeFile(this.at(name), text, { mode: name.startsWith("root/opt/bin/") ? 0o755 : 0o644 });
  }

  /** Returns the content of a file of the host's state; "" if the file does not exist. */
  async get(name: string): Promise<string> {
    return await readFile(this.at(name), "utf8").catch(() => "");
  }

  /** Returns the lines of a file of the host's state. */
  async lines(name: string): Promise<string[]> {
    return (await this.get(name)).split("\n").filter(Boolean);
  }

  /** Returns the arguments of each call of kubeadm, without calls of `kubeadm version`. */
  async kubeadmCalls(): Promise<string[]> {
    return await this.lines("kubeadm_calls");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** Returns a body that has some bytes and then ends with an error (`isCut`), or sends nothing more. */
function begun(bytes: Uint8Array<ArrayBuffer>, isCut: boolean): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start: async (controller) => {
      controller.enqueue(bytes);
      if (!isCut) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
      controller.error(new DOMException("cut", "AbortError"));
    },
  });
}

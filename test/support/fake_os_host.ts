/**
 * A host whose operating system tools are strict fakes over files; it runs the real scripts of hands, the pods that
 * execute orders on nodes.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { osCommandOf } from "../../activities/os/hand_pod.ts";
import { verdictIn } from "../../activities/os/verdict.ts";
import type { OsDriver, OsOrder, OsOutcome } from "../../workflows/contracts/mod.ts";
import { handScripts } from "./hand_scripts.ts";

const bin = fileURLToPath(new URL("os_host/bin", import.meta.url));

/** Returns a digest that consists of one repeated character. */
export const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const bootIdOf = (boot: number): string => `00000000-0000-4000-8000-${String(boot).padStart(12, "0")}`;
const [a, b] = [digestOf("a"), digestOf("b")];

/** The initial state: image a is booted, and b is available. */
const standing: Record<string, string> = {
  ...{ booted: a, staged: "", rollback: "", queued: "false", locked: "false", layered: "false" },
  ...{ registry: `registry.example/os/worker@${a}\nregistry.example/os/worker@${b}\n`, systemd: "", etc: "" },
  ...{ finalizes_by: "digest", is_old: "false" },
  ...{ comms: "systemd\n", enabled: "sshd.service\n", store_size: "0\t/sysroot/ostree/repo/tmp\n" },
  du_boot: "100000\t/boot/ostree/default-1\n90000\t/boot/ostree/default-2\n190004\t/boot/ostree\n",
  df_boot: "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda3 500000 200000 300000 40% /boot\n",
};

export class FakeOsHost implements AsyncDisposable {
  readonly driver: OsDriver;
  /** Variables that the image of hands sets in its containers. */
  variables: Readonly<Record<string, string>> = {};
  readonly #directory: string;
  readonly #programs: string;
  #boots = 1;

  private constructor(driver: OsDriver, directory: string, programs: string) {
    this.driver = driver;
    this.#directory = directory;
    this.#programs = programs;
  }

  /** Creates a host with its own folder of state; `programs` is the folder of its tools. */
  static async make(driver: OsDriver, programs = bin): Promise<FakeOsHost> {
    const directory = await mkdtemp(join(tmpdir(), "ostler-host-"));
    await mkdir(join(directory, "units"));
    await mkdir(join(directory, "hands"));
    for (const [name, text] of Object.entries(handScripts())) await writeFile(join(directory, "hands", name), text);
    const host = new FakeOsHost(driver, directory, programs);
    for (const [name, text] of Object.entries(standing)) await host.put(name, text);
    await host.put("boot_id", `${bootIdOf(1)}\n`);
    return host;
  }

  /** Returns the path of a file of the host's state. */
  at(name: string): string {
    return join(this.#directory, name);
  }

  async put(name: string, text: string): Promise<void> {
    await writeFile(this.at(name), text);
  }

  /** Returns the content of a file of the host's state; "" if the file does not exist. */
  async get(name: string): Promise<string> {
    return await readFile(this.at(name), "utf8").catch(() => "");
  }

  get bootId(): string {
    return bootIdOf(this.#boots);
  }

  order(verb: OsOrder["verb"], more: Partial<OsOrder> = {}): OsOrder {
    return {
      ...{ node: "w-1", uid: "uid-of-w-1", driver: this.driver, verb, image: "registry.example/os/worker", digest: b },
      ...{ bootId: this.bootId, token: "t-1", until: Date.now() + 60_000 },
      ...more,
    };
  }

  /** Executes an order as its pod would; a download counts as stalled after `stallSeconds`. */
  async give(verb: OsOrder["verb"], more: Partial<OsOrder> = {}, stallSeconds = 30): Promise<OsOutcome> {
    const said = await this.run(this.order(verb, more), stallSeconds);
    const outcome = verdictIn(said);
    if (!outcome) throw new Error(`Failed to parse the output of the hand: ${JSON.stringify(said)}`);
    return outcome;
  }

  #environment(): Record<string, string> {
    return { PATH: `${this.#programs}:${process.env["PATH"]}`, HOST: this.#directory };
  }

  /** Runs the script with which a hand executes an order; returns its output. */
  run(order: OsOrder, stallSeconds: number, cancel?: AbortSignal): Promise<string> {
    const args = osCommandOf(order).args(order.until);
    const child = spawn("/bin/sh", [this.at("hands/hand.sh"), ...args.slice(0, -1), String(stallSeconds)], {
      env: { ...this.variables, ...this.#environment() },
      stdio: ["ignore", "pipe", "inherit"],
      ...(cancel ? { signal: cancel, killSignal: "SIGKILL" as const } : {}),
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    let said = "";
    child.stdout?.on("data", (chunk) => said += String(chunk));
    child.on("error", () => undefined); // a cancelled script ends with an error
    child.on("close", () => resolve(said));
    return promise;
  }

  /** Runs the commands that a timer has scheduled, and boots the host; throws unless they boot it exactly once. */
  async elapse(): Promise<void> {
    for (const command of await this.ordered()) {
      const [program = "", ...args] = command.split(" ");
      execFileSync(program, args, { env: this.#environment() });
    }
    if (await this.get("reboots") !== "reboot\n") {
      throw new Error("Failed to boot: the scheduled command does not boot the host exactly once");
    }
    await rm(this.at("reboots"));
    await this.boot();
  }

  /** Boots the host, whether or not an order asked for the boot. */
  async boot(): Promise<void> {
    this.#boots += 1;
    await this.put("boot_id", `${this.bootId}\n`);
    const [booted, staged, rollback] = await Promise.all(
      ["booted", "staged", "rollback"].map((name) => this.get(name)),
    );
    const ready = await this.get("locked") === "true" ? "" : staged;
    const next = ready || ((await this.get("queued")).trim() === "true" ? rollback : "");
    if (next) {
      await this.put("booted", next);
      await this.put("rollback", booted ?? "");
    }
    await Promise.all([this.put("staged", ""), this.put("queued", "false"), this.put("locked", "false")]);
    await rm(this.at("units"), { recursive: true });
    await mkdir(this.at("units"));
  }

  /** Returns the commands of the boots that are ordered, which systemd would run after ten seconds. */
  async ordered(): Promise<string[]> {
    const timers = (await readdir(this.at("units"))).filter((name) => name.endsWith(".timer"));
    return await Promise.all(timers.map(async (name) => (await this.get(join("units", name))).trim()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}

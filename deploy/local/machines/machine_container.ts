/** One container that boots as a machine: systemd is its first process, and it sees no more of the host than the kernel. */
import { existsSync } from "node:fs";
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from "testcontainers";

/** What a container is made of. */
export interface ContainerOptions {
  name: string;
  /** Name of a machine image that the engine has. */
  image: string;
  /** Name of the only network it is in. */
  network: string;
  labels: Record<string, string>;
  /** Arguments of the boot, as a kernel would be given. */
  bootArguments: readonly string[];
  /** Space under /opt, where programs go; as much as the host has unless told. */
  diskBytes?: number;
}

/** How a command on the machine ended. */
export interface ExecResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Sees only its own cgroups, as systemd must: on cgroup v1 a privileged container would else be given the host's. */
class SystemContainer extends GenericContainer {
  constructor(image: string) {
    super(image);
    // The types of dockerode do not know this field yet (Docker Engine API 1.41).
    Object.assign(this.hostConfig, { CgroupnsMode: "private" });
    // A machine that reboots itself comes back; one that was killed does not.
    this.hostConfig.RestartPolicy = { Name: "unless-stopped" };
  }
}

// The address stays with the link, its default route does not.
const pullPlug = "ip route show default >/run/default-route && ip link set eth0 down";
const putPlugBack = "ip link set eth0 up && ip route replace $(cat /run/default-route)";

/** A machine that was switched on. */
export class MachineContainer {
  readonly #container: StartedTestContainer;
  readonly #network: string;
  #isCut = false;

  private constructor(container: StartedTestContainer, network: string) {
    this.#container = container;
    this.#network = network;
  }

  /** Switches a new machine on; rejects with the engine's reason. */
  static async start(options: ContainerOptions): Promise<MachineContainer> {
    const { name, image, network, labels, bootArguments } = options;
    const modules = "/lib/modules";
    const container = new SystemContainer(image)
      .withName(labelledName(labels, name))
      .withHostname(name)
      .withLabels(labels)
      .withNetworkMode(network)
      .withPrivilegedMode()
      .withTmpFs({ "/run": "rw,exec", "/run/lock": "rw", "/tmp": "rw,exec", ...diskOf(options) })
      .withBindMounts(existsSync(modules) ? [{ source: modules, target: modules, mode: "ro" }] : [])
      .withWaitStrategy(Wait.forSuccessfulCommand("true"))
      .withCommand(["/sbin/init", ...bootArguments]);
    return new MachineContainer(await container.start(), network);
  }

  /** The machine's address in its network. */
  get address(): string {
    return this.#container.getIpAddress(this.#network);
  }

  get id(): string {
    return this.#container.getId();
  }

  /** Runs a command as root; its exit code is part of the answer, not an error. */
  async run(command: readonly string[]): Promise<ExecResult> {
    const { exitCode, stdout, stderr } = await this.#container.exec([...command]);
    return { exitCode, stdout, stderr };
  }

  /** Writes a file on the machine, whole. */
  async write(path: string, content: string): Promise<void> {
    const script = 'mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1.new" && mv -f "$1.new" "$1"';
    const { exitCode, stderr } = await this.run(["sh", "-c", script, "write", path, content]);
    if (exitCode !== 0) throw new Error(`Cannot write "${path}" on machine "${this.#container.getName()}": ${stderr}`);
  }

  /**
   * Pulls the network's plug, or puts it back. The engine is not asked: it would give the address to the next machine,
   * and this one could not come back.
   */
  async partition(isCut: boolean): Promise<void> {
    if (this.#isCut === isCut) return;
    const { exitCode, stderr } = await this.run(["sh", "-c", isCut ? pullPlug : putPlugBack]);
    const what = `${isCut ? "cut" : "connect"} machine "${this.#container.getName()}"`;
    if (exitCode !== 0) throw new Error(`Cannot ${what}: ${stderr.trim()}`);
    this.#isCut = isCut;
  }

  /** Pulls the power plug; the disk stays. */
  async kill(): Promise<void> {
    const { container } = await getContainerRuntimeClient();
    await container.getById(this.id).kill();
  }

  /** Shuts the machine down in order and boots it again from the same disk. */
  async reboot(): Promise<void> {
    await this.#container.restart({ timeout: 30_000 });
    this.#isCut = false; // its network is set up anew
  }

  /** Scraps machine and disk; one that is gone is success. */
  async remove(): Promise<void> {
    const { container } = await getContainerRuntimeClient();
    await container.getById(this.id).remove({ force: true, v: true }).catch((error: unknown) => {
      if (!(error instanceof Error && /no such container|already in progress/i.test(error.message))) throw error;
    });
  }
}

/** What the engine calls a machine of a run with these labels. */
export function labelledName(labels: Record<string, string>, name: string): string {
  return `${labels["dev.ostler.machine"] ?? "ostler"}-${name}`;
}

function diskOf({ diskBytes }: ContainerOptions): Record<string, string> {
  return diskBytes === undefined ? {} : { "/opt": `rw,exec,size=${diskBytes}` };
}

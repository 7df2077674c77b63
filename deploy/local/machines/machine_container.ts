/** A container that boots as a machine: systemd is its init process, and it shares only the kernel with the host. */
import { existsSync } from "node:fs";
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from "testcontainers";

/** Options of a container. */
interface ContainerOptions {
  name: string;
  /** Name of a machine image in the engine. */
  image: string;
  /** Name of the only network that the container joins. */
  network: string;
  labels: Record<string, string>;
  /** Boot arguments, as on a kernel command line. */
  bootArguments: readonly string[];
  /** Disk space under /opt, where programs are installed, in bytes; by default that of the host. */
  diskBytes?: number;
}

/** The result of a command on the machine. */
interface ExecResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/**
 * A container that sees only its own cgroups, as systemd requires; by default, a privileged container on cgroup v1 sees
 * the host's.
 */
class SystemContainer extends GenericContainer {
  constructor(image: string) {
    super(image);
    // The types of dockerode lack this field (Docker Engine API 1.41).
    Object.assign(this.hostConfig, { CgroupnsMode: "private" });
    // The engine restarts a machine that reboots itself, but not a machine that was killed.
    this.hostConfig.RestartPolicy = { Name: "unless-stopped" };
  }
}

// A network link that is taken down keeps its address but loses its default route, so the route is saved and restored.
const pullPlug = "ip route show default >/run/default-route && ip link set eth0 down";
const putPlugBack = "ip link set eth0 up && ip route replace $(cat /run/default-route)";

/** A started machine. */
export class MachineContainer {
  readonly #container: StartedTestContainer;
  readonly #network: string;
  #isCut = false;

  private constructor(container: StartedTestContainer, network: string) {
    this.#container = container;
    this.#network = network;
  }

  /** Starts a new machine; rejects with the engine's reason. */
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

  /** Returns the machine's address in its network. */
  get address(): string {
    return this.#container.getIpAddress(this.#network);
  }

  get id(): string {
    return this.#container.getId();
  }

  /** Runs a command as root; returns a non-zero exit code instead of throwing. */
  async run(command: readonly string[]): Promise<ExecResult> {
    const { exitCode, stdout, stderr } = await this.#container.exec([...command]);
    return { exitCode, stdout, stderr };
  }

  /** Writes a file on the machine atomically. */
  async write(path: string, content: string): Promise<void> {
    const script = 'mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1.new" && mv -f "$1.new" "$1"';
    const { exitCode, stderr } = await this.run(["sh", "-c", script, "write", path, content]);
    if (exitCode !== 0) {
      throw new Error(`Failed to write "${path}" on machine "${this.#container.getName()}": ${stderr}`);
    }
  }

  /**
   * Takes the network link down if `isCut`, else up again. The container stays connected in the engine, which would
   * otherwise assign the address to the next machine.
   */
  async partition(isCut: boolean): Promise<void> {
    if (this.#isCut === isCut) return;
    const { exitCode, stderr } = await this.run(["sh", "-c", isCut ? pullPlug : putPlugBack]);
    const what = `${isCut ? "cut off" : "reconnect"} machine "${this.#container.getName()}"`;
    if (exitCode !== 0) throw new Error(`Failed to ${what}: ${stderr.trim()}`);
    this.#isCut = isCut;
  }

  /** Kills the machine like a power failure; keeps its disk. */
  async kill(): Promise<void> {
    const { container } = await getContainerRuntimeClient();
    await container.getById(this.id).kill();
  }

  /** Shuts the machine down cleanly and boots it again from the same disk. */
  async reboot(): Promise<void> {
    await this.#container.restart({ timeout: 30_000 });
    this.#isCut = false; // the boot has set up the network again
  }

  /** Removes machine and disk; an absent machine counts as success. */
  async remove(): Promise<void> {
    const { container } = await getContainerRuntimeClient();
    await container.getById(this.id).remove({ force: true, v: true }).catch((error: unknown) => {
      if (!(error instanceof Error && /no such container|already in progress/i.test(error.message))) throw error;
    });
  }
}

/** Returns the container name of a machine in the run with these labels. */
export function labelledName(labels: Record<string, string>, name: string): string {
  return `${labels["dev.ostler.machine"] ?? "ostler"}-${name}`;
}

function diskOf({ diskBytes }: ContainerOptions): Record<string, string> {
  return diskBytes === undefined ? {} : { "/opt": `rw,exec,size=${diskBytes}` };
}

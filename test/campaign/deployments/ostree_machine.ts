/**
 * One machine whose root is an OSTree deployment. Orders for it run directly on the machine, with the scripts that
 * Ostler otherwise runs in its pods on nodes (hands).
 */
import { join } from "node:path";
import process from "node:process";
import { handNameOf } from "../../../activities/os/order.ts";
import { verdictIn } from "../../../activities/os/verdict.ts";
import { aimTestcontainers } from "../../../deploy/local/engine/aim_testcontainers.ts";
import { openEngine } from "../../../deploy/local/engine/engine.ts";
import { MachineContainer } from "../../../deploy/local/machines/machine_container.ts";
import { machineImage } from "../../../deploy/local/machines/machine_image.ts";
import { type Build, ostreeImage, remoteRepository } from "../../../deploy/local/machines/ostree/ostree_image.ts";
import { debianArchives } from "../../../deploy/local/mirror/debian_archives.ts";
import { machinesFolder } from "../../../deploy/local/demo/ground.ts";
import type { OsOrder, OsOutcome } from "../../../workflows/contracts/mod.ts";
import { eventually } from "../../support/eventually.ts";
import { handScripts } from "../../support/hand_scripts.ts";

const bootMs = 60_000;

/** Runs a story on one machine outside of a cluster; nothing of it remains. */
export async function withOstreeMachine(story: (machine: OstreeMachine) => Promise<void>): Promise<void> {
  const workFolder = machinesFolder();
  const install = process.env["OSTLER_INSTALL_DOCKER"] === "true";
  const engine = await openEngine({ install, directory: join(workFolder, "docker") });
  using _aimed = aimTestcontainers(engine.socket);
  try {
    const archives = await debianArchives();
    const image = await ostreeImage(await machineImage({ workFolder, archives }), archives);
    const place = { network: engine.network.name, labels: engine.runLabels() };
    const container = await MachineContainer.start({ name: "ostree", image, ...place, bootArguments: [] });
    await story(new OstreeMachine(container));
  } finally {
    await engine.stop(); // the machine is deleted with the run
  }
}

/** The fields of an order that a test sets: the image digest, the boot ID and the token. */
export type Asked = Partial<Pick<OsOrder, "digest" | "bootId" | "token">>;

export class OstreeMachine {
  readonly #machine: MachineContainer;

  constructor(machine: MachineContainer) {
    this.#machine = machine;
  }

  /** Waits until the machine has booted with a boot ID other than `before`, and returns this boot ID. */
  async booted(before = ""): Promise<string> {
    return await eventually("another boot", async () => {
      const { exitCode } = await this.#machine.run(["systemctl", "is-active", "multi-user.target"]).catch(() => away);
      if (exitCode !== 0) return false;
      const bootId = (await this.read("/proc/sys/kernel/random/boot_id")).trim();
      return bootId !== before && bootId;
    }, { withinMs: bootMs });
  }

  /** Returns the OSTree commit of a build, in the form of an image digest. */
  async digest(build: Build): Promise<string> {
    return `sha256:${(await this.#said(["ostree", `--repo=${remoteRepository}`, "rev-parse", `os/${build}`])).trim()}`;
  }

  async read(path: string): Promise<string> {
    return await this.#said(["cat", path]);
  }

  /** Executes the order, and returns its result. */
  async give(verb: OsOrder["verb"], asked: Asked = {}): Promise<OsOutcome> {
    const { digest = "", bootId = "", token = "t-1" } = asked;
    const name = handNameOf({
      ...{ node: "ostree", uid: "ostree", driver: "ostree", image: "site", until: 0 },
      ...{ verb, digest, bootId, token },
    });
    const until = Math.ceil(Date.now() / 1000) + 60;
    await this.#bringScripts();
    const words = ["ostree", verb, "site", digest, bootId, name, `${until}`, "30"].map((word) => word || "-");
    const said = await this.#said(["sh", "/run/hands/hand.sh", ...words]);
    const outcome = verdictIn(said);
    if (!outcome) throw new Error(`Failed to read the result of "${verb}": "${said}"`);
    return outcome;
  }

  /** Writes the scripts before each order, because /run is empty after a boot. */
  async #bringScripts(): Promise<void> {
    for (const [name, text] of Object.entries(handScripts())) await this.#machine.write(`/run/hands/${name}`, text);
  }

  async #said(command: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#machine.run(command);
    if (exitCode !== 0) throw new Error(`Failed to run "${command.join(" ")}": it ended with ${exitCode}: ${stderr}`);
    return stdout;
  }
}

/** The result of a command while the machine is between two boots. */
const away = { exitCode: 1 };

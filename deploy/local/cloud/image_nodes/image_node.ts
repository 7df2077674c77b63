/** A simulated node that stores OS images and boots them, with the state that its OS tools and its kubelet report. */
import { randomUUID } from "node:crypto";

/**
 * The behavior of a node after an order to boot: it boots the staged image, boots the image again that it ran before,
 * or stays down.
 */
export type Fate = "boots" | "rolls back" | "never comes back";

interface OsState {
  bootId: string;
  booted: string;
  staged: string;
  fallback: string;
}

/**
 * An order to a node's operating system, such as Stage or Apply. Its fields are arguments of the pod in namespace
 * "ostler-hands" that executes the order.
 */
export interface Order {
  verb: string;
  digest: string;
  bootId: string;
}

export class ImageNode {
  readonly name: string;
  readonly state: OsState;
  /** Machine ID in the format of systemd. */
  readonly machineId = randomUUID().replaceAll("-", "");
  isDown = false;
  /** RFC 3339 time of the last change between up and down. */
  since = new Date().toISOString();
  /** Number of accepted orders to boot. */
  boots = 0;

  constructor(name: string, booted: string) {
    this.name = name;
    this.state = { bootId: randomUUID(), booted, staged: "", fallback: "" };
  }

  /**
   * Executes an order like the script in Ostler's pods that change nodes; returns "Boots" if the order makes the node
   * reboot, otherwise "Told".
   */
  take({ verb, digest, bootId }: Order): "Told" | "Boots" {
    if (verb === "Stage") this.state.staged = digest;
    const isBoot = (verb === "Apply" || verb === "GoBack") && bootId === this.state.bootId;
    if (!isBoot) return "Told";
    if (verb === "GoBack") this.state.staged = this.state.fallback;
    this.boots += 1;
    return "Boots";
  }

  /** Marks the node as down, at the start of a boot; `comeUp` ends the boot. */
  goDown(): void {
    this.isDown = true;
    this.since = new Date().toISOString();
  }

  /**
   * Brings the node up: with the staged image if one is staged and `fate` is "boots", otherwise with the image that it
   * ran before.
   */
  comeUp(fate: Fate): void {
    const { booted, staged } = this.state;
    const isUp = fate === "boots" && staged !== "";
    Object.assign(this.state, {
      ...{ bootId: randomUUID(), staged: "" },
      ...(isUp ? { booted: staged, fallback: booted } : {}),
    });
    this.isDown = false;
    this.since = new Date().toISOString();
  }
}

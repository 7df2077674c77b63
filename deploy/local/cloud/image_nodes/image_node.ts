/** A node that keeps images of its OS and boots them, as far as its tools and its kubelet tell. */
import { randomUUID } from "node:crypto";

/** What becomes of an order to boot. */
export type Fate = "boots" | "rolls back" | "never comes back";

export interface OsState {
  bootId: string;
  booted: string;
  staged: string;
  fallback: string;
}

/** Words of an order, as a hand is given them. */
export interface Order {
  verb: string;
  digest: string;
  bootId: string;
}

export class ImageNode {
  readonly name: string;
  readonly state: OsState;
  /** As systemd writes it. */
  readonly machineId = randomUUID().replaceAll("-", "");
  isDown = false;
  /** RFC 3339 time since when it is down, or is not. */
  since = new Date().toISOString();
  /** Orders to boot that it took. */
  boots = 0;

  constructor(name: string, booted: string) {
    this.name = name;
    this.state = { bootId: randomUUID(), booted, staged: "", fallback: "" };
  }

  /** Does what it is told, as a driver's script would; "Boots" where it goes down for that. */
  take({ verb, digest, bootId }: Order): "Told" | "Boots" {
    if (verb === "Stage") this.state.staged = digest;
    const isBoot = (verb === "Apply" || verb === "GoBack") && bootId === this.state.bootId;
    if (!isBoot) return "Told";
    if (verb === "GoBack") this.state.staged = this.state.fallback;
    this.boots += 1;
    return "Boots";
  }

  /** It is down, and the next boot begins. */
  goDown(): void {
    this.isDown = true;
    this.since = new Date().toISOString();
  }

  /** It is back, with what was staged or, where that does not come up, what it ran. */
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

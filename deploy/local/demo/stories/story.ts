import type { Installation } from "../../installation/installation.ts";
import type { ScriptChange } from "../../cloud/script.ts";
import type { Ground } from "../ground.ts";
import type { DemoOptions } from "../options.ts";
import type { Manifest } from "../pool_objects.ts";
import type { Scene } from "../scene.ts";
import type { Checklist } from "./checklist.ts";
import type { Cluster } from "./cluster.ts";
import type { GuestWatch } from "./guest_watch.ts";
import type { RolloutDesk } from "./rollout_desk.ts";

/** One story: what there is before it begins, and what happens then. */
export interface Story {
  /** What it shows, in one sentence. */
  readonly title: string;
  readonly replicas: number;
  readonly surge: number;
  /** Machines that come besides, as the pool is scaled up in the middle; none unless told. */
  readonly extra?: number;
  /** Nodes of the pool that may be out at once; none unless told. */
  readonly down?: number;
  /** The RolloutPolicy's spec but for its selector; it stands before the pool does. */
  readonly policy: object;
  readonly script?: ScriptChange;
  /** The pool's OperatingSystemProfile; osp-ubuntu unless given. */
  readonly profile?: Manifest;
  /** Temporal's namespace where its rollouts are; the server's first one unless told. */
  readonly namespace?: string;
  /** Comes before the pool does. */
  prepare?(play: Play): Promise<void>;
  /** Begins with a converged pool on the first release, and leaves the pool converged again. */
  tell(play: Play): Promise<void>;
}

/** What the steps of a story act upon. */
export interface Play extends Scene {
  readonly cluster: Cluster;
  readonly rollout: RolloutDesk;
  readonly guests: GuestWatch;
  readonly checks: Checklist;
  readonly options: DemoOptions;
  readonly ground: Ground;
  /** Where the ground has all that it takes. */
  readonly installation?: Installation;
}

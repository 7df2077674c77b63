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

/** A story: its pool and policy, and its steps. */
export interface Story {
  /** The result of the story, in one sentence. */
  readonly title: string;
  readonly replicas: number;
  readonly surge: number;
  /** Additional machines that the observer allows, for a story that scales the pool up; default 0. */
  readonly extra?: number;
  /** Number of the pool's nodes that may be out of service at once; default 0. */
  readonly down?: number;
  /** The spec of the RolloutPolicy without its selector; the policy is created before the pool. */
  readonly policy: object;
  readonly script?: ScriptChange;
  /** The OperatingSystemProfile of the pool; default osp-ubuntu. */
  readonly profile?: Manifest;
  /** Temporal's namespace of the rollouts; by default, the namespace that the server has at its start. */
  readonly namespace?: string;
  /** Runs before the pool is created. */
  prepare?(scene: StoryScene): Promise<void>;
  /** Plays the story; starts with a converged pool on the first release, and leaves a converged pool. */
  tell(scene: StoryScene): Promise<void>;
}

/** The scene of a story about one feature, with the means to change the cluster and to record checks. */
export interface StoryScene extends Scene {
  readonly cluster: Cluster;
  readonly rollout: RolloutDesk;
  readonly guests: GuestWatch;
  readonly checks: Checklist;
  readonly options: DemoOptions;
  readonly ground: Ground;
  /** The installation of Ostler as pods; set only for the story that installs Ostler. */
  readonly installation?: Installation;
}

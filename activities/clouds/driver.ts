/**
 * The interface to a cloud that has scaling groups, with one implementation for each cloud; all other code is
 * independent of clouds.
 *
 * All methods of a driver keep these promises:
 * - A method may run twice, or be interrupted after any request and run again, with the same result: one instance for a
 *   token, a size that increased once for each ordered instance and decreased once for each removed one, one template
 *   for an image.
 * - Clouds list changes late: a new instance may be in no list yet. An absent object is `undefined`; the caller decides
 *   whether it is deleted or not visible yet, from the time of the order.
 * - Missing capacity is returned ("NoCapacity"), not thrown, because only time or an administrator fixes it.
 *   Throttling and lost connections are thrown as Transient ("ApiUnavailable"), requests that the cloud will never
 *   accept as Refused ("CloudRefused").
 * - Group ids are those of ScalingGroups, compared by `groupKeyOf`; instances are identified by their provider id, as
 *   nodes are.
 * - Missing features of a cloud are declared, by `capabilities` or by a missing optional method; no method is a stub
 *   that throws.
 */

/** Features of a cloud, as data. */
export interface Capabilities {
  /**
   * Token: an order has a token, and the cloud returns the same instance for it. Difference: the cloud takes only a
   * size, so the driver finds new instances by comparing lists, and a group has at most one order in progress.
   */
  readonly orders: "Token" | "Difference";
  /**
   * Ordered: an order names the zone of its instance. Chosen: the cloud alone chooses the zone, and `zone` of an order
   * has no effect.
   */
  readonly zones: "Ordered" | "Chosen";
}

/** The properties of a scaling group in its cloud. */
export interface CloudGroup {
  id: string;
  /** Name for people; `autoscalerName` is the name for the cluster-autoscaler. */
  name: string;
  autoscalerName: string;
  /** Role of the group's machines; "" if the group does not define one. */
  role: "Worker" | "ControlPlane" | "";
  /**
   * Bounds of the group's size. Groups of Google and Azure have none: the bounds of the autoscaler replace them, or
   * else the limits of the cloud.
   */
  min: number;
  max: number;
  /** Number of instances that the group maintains. */
  size: number;
  /** Whether the group ends instances to have equally many in all zones, until `ensureRebalancing` suspends that. */
  rebalances?: true;
}

/** The groups that were found; incomplete if some groups could not be read. */
export interface FoundGroups {
  groups: CloudGroup[];
  isComplete: boolean;
}

/** Defines what instances of a group boot from; a template with an id never changes. */
export interface BootTemplate {
  id: string;
  image: string;
}

/** The states of `PendingNode.status.cspState`. */
export type InstanceState = "Unknown" | "Creating" | "Ready" | "Stopped" | "Terminating" | "Terminated" | "Failed";

export interface Instance {
  /** Provider ID, as on the instance's Node. */
  providerId: string;
  group: string;
  /** Name that the instance's Node has or will have; "" while unknown. */
  node: string;
  state: InstanceState;
  /** The cloud's description of a failure; "" without one. */
  trouble: string;
  /** The image that the instance really boots from. */
  image: string;
  addresses: string[];
  /** Token of the instance's order; missing for an instance that the group made by itself. */
  token?: string;
  zone?: string;
  /** Scale-in protection: whether a person or another program excluded the instance from removal by the group. */
  isProtected: boolean;
  /** The action of another program that the cloud awaits before it deletes this instance; absent if there is none. */
  waitsFor?: { what: string; longestMs: number };
  /** Creation time of the instance (RFC 3339). */
  since: string;
}

export type Ordered = { outcome: "Ordered"; instance: Instance } | { outcome: "NoCapacity"; says: string };

/**
 * A text that outlives the process, for one order. A cloud may forget tokens, so the driver records each launch attempt
 * in the text before it sends the request.
 */
export interface Journal {
  /** Returns the journal's text; "" before the first attempt. */
  read: () => Promise<string>;
  /** Replaces the text; returns false, and changes nothing, if the text is not `from` any more. */
  write: (change: { from: string; to: string }) => Promise<boolean>;
}

/** Examines and ends the launch attempts that a driver has recorded in journals. */
export interface Attempts {
  /** Returns whether a journal's text has an open attempt: one that has launched an instance, or may have done so. */
  isOpen: (text: string) => boolean;
  /**
   * Finds out whether an open attempt launched an instance, and starts no other attempt. If so, the instance gets the
   * token of the order, and the attempt stays open until the instance is terminating; else the attempt is closed.
   */
  end: (order: { group: string; token: string; journal: Journal }) => Promise<void>;
}

export interface Driver {
  /** Name of the cloud in messages. */
  readonly title: string;
  readonly capabilities: Capabilities;
  /** Milliseconds between two reads of the cloud by a caller that waits; default 5 s. */
  readonly lookEvery?: number;
  /** Milliseconds after an order in which the cloud may not list the new instance; default 2 min. */
  readonly lagMs?: number;

  /** Lists all groups of this cluster. */
  groups(): Promise<FoundGroups>;
  group(group: string): Promise<CloudGroup | undefined>;

  /**
   * Returns the template that the group will really boot next, which may not be its newest one. Throws Refused if the
   * group does not exist.
   */
  template(group: string): Promise<BootTemplate>;
  /** Sets the image that the group boots, and changes nothing else of its template; reuses an equal template. */
  ensureImage(order: { group: string; image: string }): Promise<BootTemplate>;
  /** Sets the group to boot one of its previous templates. Throws Refused if the template does not exist. */
  ensureTemplate(order: { group: string; template: string }): Promise<BootTemplate>;

  /**
   * Deletes old templates that Ostler made and nothing boots from, except those of `keep` and the newest ones. Missing
   * for a cloud without such templates.
   */
  deleteSpareTemplates?(order: { keep: readonly string[] }): Promise<void>;

  /**
   * Suspends or resumes the moves of instances between zones; an absent group counts as success. Missing for a cloud
   * without such moves, and for a driver that refuses groups with them.
   */
  ensureRebalancing?(order: { group: string; isOn: boolean }): Promise<void>;

  /** Lists all existing instances of the group, in the order of their creation. */
  instances(group: string): Promise<Instance[]>;
  /** Returns an instance, also while it is being deleted; undefined if it is deleted or not visible yet. */
  instance(providerId: string): Promise<Instance | undefined>;

  /**
   * Throws Refused for a token that the cloud could not store; without this method any token works. Sends no request.
   */
  checkToken?(order: { group: string; token: string }): void;
  /**
   * Orders one more instance from the group's current template and increases the size. Throws Refused if the group is
   * full. The instance has the zone of the order, because a volume of one zone cannot be attached in another. It may
   * have any zone if the order names none, or if the group does not have that zone any more. Without a journal, only
   * this process remembers the attempts of the order.
   */
  order(order: { group: string; token: string; zone?: string; journal?: Journal }): Promise<Ordered>;
  /** The attempts in journals; missing for a cloud that needs no journal. */
  readonly attempts?: Attempts;
  /**
   * Removes an instance; with `shrinks` the size decreases, else the group makes another instance. Returns "Gone" once
   * the instance is deleted.
   */
  remove(order: { group: string; providerId: string; shrinks: boolean }): Promise<"Going" | "Gone">;
}

/** Returns equal keys for ids of the same group, because clouds and users may write ids in different case. */
export function groupKeyOf(group: string): string {
  return group.toLowerCase();
}

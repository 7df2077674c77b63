/**
 * What is asked of a cloud that has scaling groups. One implementation for each kind of cloud; nobody else names one.
 *
 * All verbs keep these promises:
 * - A verb may run twice, or be cut off at any request and run again, and leaves the same world: one instance for a token,
 *   a size that went up once for each instance ordered and down once for each removed, one template for an image.
 * - The cloud is seen late: what was just ordered may be listed nowhere yet. Who is absent is `undefined`; whether that is an
 *   end or a beginning is for the caller to say, who knows when it was ordered.
 * - Outcomes are closed. What has no room is an answer ("NoCapacity"), as only time or a person mends it. Throttled and out
 *   of reach are thrown as Transient ("ApiUnavailable"), what the cloud will never do as Refused ("CloudRefused").
 * - Group ids are those of ScalingGroups, compared by `groupKeyOf`; instances are named by their provider id, as nodes are.
 * - What a cloud cannot do is declared (`capabilities`), never found out by a stub that throws.
 */

/** What a cloud can do, as data. */
export interface Capabilities {
  /**
   * Token: an order carries one, and the cloud answers the same instance for it. Difference: the cloud only takes a size, so
   * the driver finds what came by what was there, and at most one order of a group may be under way.
   */
  readonly orders: "Token" | "Difference";
}

/** A scaling group as its cloud has it. */
export interface CloudGroup {
  id: string;
  /** As people call it, and as the cluster-autoscaler does. */
  name: string;
  autoscalerName: string;
  /** "" where it says none. */
  role: "Worker" | "ControlPlane" | "";
  /** Bounds of the cloud, which it never leaves by itself. */
  min: number;
  max: number;
  /** Instances that it keeps. */
  size: number;
}

/** Groups that were found; not complete where some could not be asked. */
export interface FoundGroups {
  groups: CloudGroup[];
  isComplete: boolean;
}

/** What instances of a group boot from; what has an id never changes. */
export interface BootTemplate {
  id: string;
  image: string;
}

/** The states of `PendingNode.status.cspState`. */
export type InstanceState = "Unknown" | "Creating" | "Ready" | "Stopped" | "Terminating" | "Terminated" | "Failed";

export interface Instance {
  /** As its node bears it. */
  providerId: string;
  group: string;
  /** Name that its node has or will have; "" while nobody knows. */
  node: string;
  state: InstanceState;
  /** What the cloud says is wrong with it; "" for nothing. */
  trouble: string;
  /** What it really boots from. */
  image: string;
  addresses: string[];
  /** By which it was ordered; missing for one that the group made by itself. */
  token?: string;
  zone?: string;
  /** The cloud would not take it by itself: a person, or another program, said so. */
  isProtected: boolean;
  /** RFC 3339. */
  since: string;
}

export type Ordered = { outcome: "Ordered"; instance: Instance } | { outcome: "NoCapacity"; says: string };

export interface Driver {
  /** In messages to people. */
  readonly title: string;
  readonly capabilities: Capabilities;
  /** Milliseconds between looks of who waits for something to happen there; five seconds unless told. */
  readonly lookEvery?: number;
  /** Milliseconds after an order in which it may show nothing of what it makes; two minutes unless told. */
  readonly lagMs?: number;

  /** All groups of this cluster. */
  groups(): Promise<FoundGroups>;
  group(group: string): Promise<CloudGroup | undefined>;

  /** What the group will really boot next, whatever its newest template says. Refused for a group that is gone. */
  template(group: string): Promise<BootTemplate>;
  /** Makes it boot an image, and nothing else of it another; an equal template that is there is taken. */
  ensureImage(order: { group: string; image: string }): Promise<BootTemplate>;
  /** Makes it boot one of its templates of before. Refused where that is gone. */
  ensureTemplate(order: { group: string; template: string }): Promise<BootTemplate>;

  /** All its instances that are not gone, in the order in which they were made. */
  instances(group: string): Promise<Instance[]>;
  /** One of them, also while it goes; undefined when it is gone, or not to be seen yet. */
  instance(providerId: string): Promise<Instance | undefined>;

  /** Refused for a token by which it could give no order; any will do unless this is told. Nobody is asked. */
  checkToken?(order: { group: string; token: string }): void;
  /** Has one more made, the group's size with it, from what the group boots now. Refused where the group is full. */
  order(order: { group: string; token: string }): Promise<Ordered>;
  /** Has one removed, and with `shrinks` the group's size with it; else the group makes another. Gone once it is. */
  remove(order: { group: string; providerId: string; shrinks: boolean }): Promise<"Going" | "Gone">;
}

/** The same for ids that mean the same group: clouds tell them in other cases than people do. */
export function groupKeyOf(group: string): string {
  return group.toLowerCase();
}

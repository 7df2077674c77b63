/** Orders to a node's operating system and their results: the verbs that every OS driver implements. */

/** The tool on the node that manages OS images. FleetLock is not a driver: its clients send requests themselves. */
export type OsDriver = "bootc" | "rpm-ostree" | "ostree";

/**
 * The image that a node booted, and the images that it can boot. A digest is "sha256:" and 64 hex digits; it identifies
 * the image, or with ostree the commit.
 */
export interface OsStatus {
  /** Changes with each boot. */
  bootId: string;
  booted: string;
  /** Digest that the next boot starts; "" if it is the booted one. */
  staged: string;
  /** Digest that a rollback would boot; "" for none. */
  fallback: string;
}

/** A state of the node that would make an update fail, or that an update would lose. */
export interface OsFinding {
  kind: "BootSpace" | "EtcChanged" | "OtherUpdater" | "LayeredPackages";
  /** Whether the finding stops the update until it is fixed; otherwise the finding is only reported. */
  stops: boolean;
  message: string;
}

/** One order; an order that is sent twice is carried out once. */
export interface OsOrder {
  /** Name and uid of the Node; a later Node of the same name is a different node. */
  node: string;
  uid: string;
  driver: OsDriver;
  /**
   * Status: report the status. Check: report the status and the findings. Stage: fetch `digest` for a boot that is
   * ordered later. Apply: boot `digest` now. GoBack: boot the fallback now. Apply and GoBack do nothing if the boot id
   * is not `bootId`.
   */
  verb: "Status" | "Check" | "Stage" | "Apply" | "GoBack";
  /** Repository of `digest`, without tag or digest, such as "registry.example/os/worker". */
  image: string;
  digest: string;
  bootId: string;
  /** Identifies the attempt: the same order with another token is a new order; at most 63 characters of [a-z0-9-]. */
  token: string;
  /** Deadline for the result (epoch ms). */
  until: number;
}

/** Why a node refused an order; the node stays unchanged until the cause is fixed or a person runs retry. */
export type OsRefusal =
  | "ImageNotFound"
  | "RegistryUnreachable"
  | "SignatureInvalid"
  | "DiskFull"
  | "PullStalled"
  | "DriverMissing"
  | "NotStaged"
  | "NothingToGoBackTo"
  | "DriverFailed";

/**
 * Done: the node carried out the order. Refused: the node refused it, with the reason. Unknown: the node did not
 * respond in time, so whether it carried out the order is unknown.
 */
export type OsOutcome =
  | { outcome: "Done"; status: OsStatus; findings: OsFinding[] }
  | { outcome: "Refused"; reason: OsRefusal; message: string }
  | { outcome: "Unknown"; message: string };

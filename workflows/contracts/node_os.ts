/** What is asked of a node's operating system, and what it answers: verbs that every driver of an OS has. */

/** Who speaks to the OS: the tool that keeps its images. FleetLock asks by itself, and is never asked. */
export type OsDriver = "bootc" | "rpm-ostree" | "ostree";

/** What a node booted and will boot. Digests are "sha256:" and 64 hex digits, of the image; with ostree, of the commit. */
export interface OsStatus {
  /** Another one after each boot. */
  bootId: string;
  booted: string;
  /** What the next boot brings; "" for the booted one. */
  staged: string;
  /** What going back would bring; "" for none. */
  fallback: string;
}

/** Something of the node that an update would trip over, or lose. */
export interface OsFinding {
  kind: "BootSpace" | "EtcChanged" | "OtherUpdater" | "LayeredPackages";
  /** It must be mended first; else it is only told. */
  stops: boolean;
  message: string;
}

/** One order; the same order given twice is carried out once. */
export interface OsOrder {
  /** The Node's name and uid: a node of the same name that came later is another one. */
  node: string;
  uid: string;
  driver: OsDriver;
  /**
   * Status: tell. Check: tell, and look for findings. Stage: fetch `digest` for a boot that is not yet ordered. Apply: boot
   * it now. GoBack: boot the fallback now. Apply and GoBack do nothing once the boot id is not `bootId`.
   */
  verb: "Status" | "Check" | "Stage" | "Apply" | "GoBack";
  /** Where `digest` is fetched from, without tag or digest, such as "registry.example/os/worker". */
  image: string;
  digest: string;
  bootId: string;
  /** Tells this order from an earlier one of the same words: an attempt. At most 63 of [a-z0-9-]. */
  token: string;
  /** Epoch ms after which nobody waits for an answer. */
  until: number;
}

/** Why a node refused an order: it stays as it is until something is mended, or a person says retry. */
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

/** Done: as ordered. Refused: it says why. Unknown: the node did not answer until the end; nobody knows what it did. */
export type OsOutcome =
  | { outcome: "Done"; status: OsStatus; findings: OsFinding[] }
  | { outcome: "Refused"; reason: OsRefusal; message: string }
  | { outcome: "Unknown"; message: string };

/**
 * A RolloutPolicy as a run uses it: defaults filled in, durations in milliseconds, windows as absolute times.
 * Cron and time zones are resolved by the activity that reads it, as their tables belong to the environment.
 */

/** A number of machines, or a share of the wanted ones such as "10%". */
export type Amount = number | string;

/** The machines updated between two soaks; `upTo` counts from the start of the rollout, not from the wave before. */
export interface Wave {
  upTo: Amount;
  /** Milliseconds of watched waiting after it. */
  soak: number;
}

/** What a gate looks at; one of these. */
export type Check =
  | { kind: "NodeCondition"; type: string; status: "True" | "False" }
  /** Every DaemonSet that these labels select, and that wants a pod on the node, has a Ready one there. */
  | { kind: "DaemonSets"; namespace: string | null; selector: string }
  /** At least `min` pods are selected, and all that are selected are Ready. */
  | { kind: "Pods"; namespace: string; selector: string; min: number }
  /** The value of `query` is `operator` `threshold`; judged only with `minSamples` samples of `samples`. */
  | {
    kind: "Prometheus";
    url: string;
    query: string;
    operator: "<" | "<=" | ">" | ">=";
    threshold: number;
    samples: string | null;
    minSamples: number;
  }
  /** A Job made from a CronJob's template, which is best suspended. */
  | { kind: "Job"; namespace: string; cronJob: string };

export interface Gate {
  name: string;
  /** After each machine that joined, or after each wave. */
  run: "EachMachine" | "EachWave";
  /** Milliseconds it has to pass in, from when it is first asked. */
  within: number;
  check: Check;
}

/** How machines are drained. */
export interface DrainRules {
  /** Milliseconds; null leaves it to the run's deadlines. */
  timeout: number | null;
  /** When pods remain after the timeout: go on waiting, set the machine aside, or delete the pods. */
  onBlocked: "Wait" | "SetAside" | "Force";
  /** Pods with an emptyDir: their data may go, or they block. */
  localStorage: "Delete" | "Block";
  /** The lowest priority goes first, and must be gone before the next one is evicted; or all at once. */
  order: "ByPriority" | "AllAtOnce";
}

/** How machines are updated where they stand. */
export interface InPlaceRules {
  /** Machines that fetch an image at once, before any of them is cordoned. */
  stageAtOnce: number;
  /** Milliseconds that staging may take, and a boot. */
  stage: number;
  boot: number;
  /** Milliseconds that a machine is watched once its gates have passed, before pods may come back. */
  soak: number;
}

/** What is done for etcd before a machine of a control plane is drained. */
export interface EtcdRules {
  /** Where a snapshot is kept. */
  snapshot:
    /** An absolute path on the machine of the worker. */
    | { keep: "Folder"; folder: string }
    /** A snapshot is PUT below `url`; the token is read from the Secret by who sends it. */
    | { keep: "Url"; url: string; token?: { namespace: string; name: string; key: string } };
}

/** When a machine that had joined is unhealthy enough to be replaced. */
export interface RepairRules {
  enabled: boolean;
  /** Milliseconds. */
  notReadyFor: number;
  conditions: { type: string; status: "True" | "False" | "Unknown"; for: number }[];
  /** With a larger share of the pool unhealthy, in percent, nothing is repaired. */
  maxUnhealthy: number;
}

export interface Rules {
  /** The RolloutPolicy that was chosen, or "defaults"; "none" while nobody can say which. */
  source: string;
  /** Why no policy could be chosen: two select the pool equally well. Nothing new starts then. */
  conflict: string | null;
  waves: Wave[];
  /** Instead of `waves`: the first wave, and by how much each is larger than the one before. */
  growth: { from: number; factor: number; soak: number } | null;
  budget: {
    machines: Amount;
    /** Machines out or changing in one zone. */
    perZone: Amount | null;
    zones: "Parallel" | "OneAfterAnother";
    /** Of all pools together. */
    cluster: number | null;
  };
  /** Absolute times (epoch ms) in which something new may start, in order; null is always. */
  windows: { from: number; to: number }[] | null;
  join: {
    /** Milliseconds; null leaves it to the run's deadlines. */
    instance: number | null;
    address: number | null;
    registered: number | null;
    ready: number | null;
    gates: number;
    /** How often a machine that does not join is recreated; null leaves it to the run. */
    attempts: number | null;
  };
  drain: DrainRules;
  gates: Gate[];
  onFailure: "Halt" | "Rollback";
  /** Machines that may fail for good, attempts and all, before the revision is quarantined. */
  maxFailed: number;
  onProfileChange: "NewMachinesOnly" | "Roll";
  /** What a newer change does to machines under way: they are finished first, or dropped. */
  onNewChange: "Finish" | "Supersede";
  approval: "Never" | "BeforeFirst" | "BeforeEachWave";
  repair: RepairRules;
  /**
   * Whether another image replaces machines. InPlace: never, their nodes follow a NodePool. ReplaceIfRefused: only those that
   * cannot follow. Left out, it does.
   */
  onImageChange?: "Replace" | "InPlace" | "ReplaceIfRefused";
  /** What the policy says of it; the rest is as documented. */
  inPlace?: Partial<InPlaceRules>;
  /** Left out, no snapshot of etcd is kept. */
  etcd?: EtcdRules;
}

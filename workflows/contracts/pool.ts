/** A pool and its machines as the planner sees them; only activities know the annotations of each backend. */

/** The kind of object that owns the machines of a pool; workflow ids contain the kind. */
export type PoolKind = "MachineDeployment" | "ScalingGroup" | "NodePool";

/**
 * One pool of machines that are rolled together. `cluster` is the name that Ostler's setting gives to the cluster,
 * absent without that setting; without `kind` the pool is a MachineDeployment. A pool has the namespace and name of its
 * Rollout: the Rollout of a cluster-scoped ScalingGroup is in a namespace (`commands/start_options.ts`), and the
 * Rollout of a NodePool has a name with a prefix (`commands/node_pool.ts`).
 */
export interface PoolRef {
  cluster?: string;
  kind?: PoolKind;
  namespace: string;
  name: string;
}

/**
 * Held: waits to be admitted. Provisioning: without an instance. Booting: with an instance, without a node. Joining:
 * with a node that was never Ready. Ready: joined, and Ready now. NotReady: joined, but not Ready now, possibly only
 * because of a network partition. Leaving: being deleted.
 */
export type MemberPhase = "Held" | "Provisioning" | "Booting" | "Joining" | "Ready" | "NotReady" | "Leaving";

export interface Member {
  id: string;
  node?: string;
  templateHash: string;
  image: string;
  kubelet: string;
  phase: MemberPhase;
  /** RFC 3339 time of creation. */
  since: string;
  /** Ostler chose the machine to be removed next. */
  marked: boolean;
  /** Ostler holds the machine on purpose. */
  held: boolean;
  /** A person marked the machine, or it is broken; Ostler removes it first, like machine-controller does. */
  expendable: boolean;
  /** Value of the node label `topology.kubernetes.io/zone`. */
  zone?: string;
  /**
   * Why the machine stays unchanged. Skip: the cloud protects it, and the policy skips protected machines. Wait: the
   * cloud protects it, and the policy waits until the protection ends. Failed: it is updated in place, and the target
   * failed on it. Down: it is updated in place, and does not respond. Unclear: the node that it names may belong to
   * another machine. Upgrading: an upgrade of Kubernetes, or a renewal of certificates, has a slot for it.
   */
  kept?: "Skip" | "Wait" | "Failed" | "Down" | "Unclear" | "Upgrading";
  /** The condition that still has to be met before the machine joins or is gone; set after a wait of 30 s. */
  lacks?: string;
  /** Why the node that the machine names may belong to another machine. */
  unclear?: string;
  /** When the target failed on the machine (epoch ms). */
  failedAt?: number;
  /** The machine could not fetch the target, and its owner would recreate it: the policy may allow its replacement. */
  replaceable?: true;
  /** The target image is staged for the next boot of a machine that is updated in place. */
  staged?: true;
  /** The machine is being deleted, and its node has been NotReady long enough to be unhealthy. */
  lost?: true;
  /** The problem of the node, its start, and the time at which the machine is due for repair (epoch ms). */
  ill?: { why: string; since: number; due: number };
}

/**
 * A bounded snapshot of a pool: exact counts, and lists (such as `old`) of only the first machines, in the order of
 * their removal. It does not list all machines of a large pool, so that workflow histories do not grow with the fleet.
 */
export interface PoolSnapshot {
  /** Changes when any field below changes. */
  fingerprint: string;
  counts: {
    machines: number;
    /** Machines of the target template that are not leaving. */
    updated: number;
    /** Machines that are Ready now, have passed their gates, had no failed update, and are not leaving. */
    ready: number;
    updatedReady: number;
    /** Machines of other templates that are not leaving. */
    old: number;
    /** Machines in phase Held: they wait to be admitted, and have no instance yet. */
    held: number;
    leaving: number;
    /** Machines that joined, are unhealthy now, and are not leaving. */
    ill: number;
  };
  /** Machines of other templates that are not leaving. */
  old: Member[];
  /** Number of machines by `kept` that `old` does not list; missing if it lists all of them. */
  unlisted?: Partial<Record<NonNullable<Member["kept"]>, number>>;
  /** New machines of the target template that wait to be admitted, the newest first. */
  waiting: Member[];
  /** Machines of the target template that boot and have not joined. */
  joining: Member[];
  /** Machines of the target template that Ostler still holds or marks because of a reverted change. */
  stale: Member[];
  leaving: Member[];
  /** Unhealthy machines of any template that are not leaving, the first one due first. */
  ill: Member[];
  /** The first machines in progress that have waited for at least 30 s, each with the condition that it waits for. */
  lacking?: { machine: string; lacks: string }[];
  /** Only for pools of control planes. */
  etcd?: EtcdStanding;
  /** The machines in `PoolQuestion.named` that are not members of the pool. */
  unknown?: string[];
}

/** The parameters of a pool snapshot. */
export interface PoolQuestion {
  pool: PoolRef;
  templateHash: string;
  /** Machines that are Ready but have not passed their gates, and so are not counted as ready. */
  unproven: string[];
  repair: RepairRules;
  /** Maximum number of machines in each list of the snapshot; in `old` it applies to each zone separately. */
  limit: number;
  /** Machines that people named; the snapshot reports which of them are not members. */
  named?: string[];
  /** Time of the last `retry` command (epoch ms); the run may retry a target that failed before. */
  retriedAt?: number;
}

/** The desired state of a pool. */
export interface Desired {
  generation: number;
  /** A short text that changes when a rollout has to reconcile; the controller then signals the run. */
  observed: string;
  /** Hash of everything that decides what machines boot with; scaling does not change the hash. */
  change: string;
  /**
   * Like `change`, but without machine-controller's revision, so that it has the same value when an earlier template is
   * applied again.
   */
  specHash: string;
  /** The field manager that wrote the template last, as far as the API server knows. */
  actor: string;
  /** Whether machine-controller has observed this generation and assigned a revision to its template. */
  settled: boolean;
  revision: string;
  templateHash: string;
  /**
   * The stamp that Ostler wrote into the template, so that machines with an earlier config are replaced; absent without
   * a stamp.
   */
  stamp?: string;
  replicas: number;
  /**
   * Number of machines that may exist above `replicas` during a rollout; with 0, an old machine is removed before a new
   * one is created.
   */
  surge: number;
  /** The machines are etcd members: one leaves at a time in the whole cluster, and none while etcd has a problem. */
  isControlPlane?: true;
  image: string;
  kubelet: string;
  profile: { name: string; namespace: string };
}

export type DesiredState =
  | { state: "Gone" }
  | { state: "Deleting" }
  | { state: "Present"; desired: Desired; rules: Rules };

// The progress of the waves of a rollout.

/** The current wave and its progress. */
export interface WaveState {
  /** Index of the current wave from 0; the number of waves when all are done. */
  index: number;
  /** End of the soak (epoch ms), set when the machines are updated and the gates have passed. */
  soakUntil: number | null;
  /** Whether the gates have passed. */
  passed: boolean;
  /** Whether this wave was approved. */
  approved: boolean;
}

/** The waves of a policy and the number of replicas, which a wave index refers to. */
export interface WaveCount extends Pick<Rules, "waves" | "growth"> {
  replicas: number;
}

// A RolloutPolicy as a run uses it: defaults filled in, durations in milliseconds, windows as absolute times.
// The activity that reads the policy resolves cron and time zones, because workers can have different time zone tables.

/** A number of machines, or a percentage of the replicas such as "10%". */
export type Amount = number | string;

/** The machines updated between two soaks; `upTo` counts from the start of the rollout, not from the previous wave. */
export interface Wave {
  upTo: Amount;
  /** Milliseconds of the soak after the wave. */
  soak: number;
}

/**
 * How soon a pool gets a slot of the shared budget; pools of equal urgency get slots in the order in which they asked.
 */
export type Urgency = "Low" | "Normal" | "High";

/** The check of a gate. */
export type Check =
  | { kind: "NodeCondition"; type: string; status: "True" | "False" }
  /** Passes when every selected DaemonSet that schedules a pod to the node has a Ready pod there. */
  | { kind: "DaemonSets"; namespace: string | null; selector: string }
  /** Passes when at least `min` pods are selected and all selected pods are Ready. */
  | { kind: "Pods"; namespace: string; selector: string; min: number }
  /**
   * Passes when the value of `query` is `operator` `threshold`, such as "< 5"; inconclusive while the value of query
   * `samples` is less than `minSamples`.
   */
  | {
    kind: "Prometheus";
    url: string;
    query: string;
    operator: "<" | "<=" | ">" | ">=";
    threshold: number;
    samples: string | null;
    minSamples: number;
  }
  /** Runs a Job from the template of a CronJob; suspend the CronJob, so that its schedule starts no Jobs. */
  | { kind: "Job"; namespace: string; cronJob: string };

export interface Gate {
  name: string;
  /** Runs after each machine that joined, or after each wave. */
  run: "EachMachine" | "EachWave";
  /** Milliseconds in which the gate must pass, from its first evaluation. */
  within: number;
  check: Check;
}

/** How machines are drained. */
export interface DrainRules {
  /** Milliseconds; null means deadline `drain` of the run (`Deadlines`). */
  timeout: number | null;
  /** The action when pods remain after the timeout: continue to wait, set the machine aside, or delete the pods. */
  onBlocked: "Wait" | "SetAside" | "Force";
  /** Whether the drain deletes the data of pods with an emptyDir, or is blocked by these pods. */
  localStorage: "Delete" | "Block";
  /**
   * ByPriority: pods of a higher priority are evicted only after all pods of lower priorities are gone. AllAtOnce: all
   * pods are evicted at once.
   */
  order: "ByPriority" | "AllAtOnce";
}

/** How machines are updated in place. */
export interface InPlaceRules {
  /** Machines that fetch an image concurrently, before any of them is cordoned. */
  stageAtOnce: number;
  /** Milliseconds that staging may take, and that a boot may take. */
  stage: number;
  boot: number;
  /** Milliseconds that a machine soaks after its gates have passed, before it is uncordoned. */
  soak: number;
}

/** The preparation of etcd before a control plane machine is drained. */
export interface EtcdRules {
  /** Where to store a snapshot. */
  snapshot:
    /** An absolute path in the file system of Ostler's worker process. */
    | { keep: "Folder"; folder: string }
    /** Ostler sends the snapshot with HTTP PUT to a path below `url`, and reads the token from the Secret. */
    | { keep: "Url"; url: string; token?: { namespace: string; name: string; key: string } };
}

/** When a joined machine is unhealthy enough to be replaced. */
export interface RepairRules {
  enabled: boolean;
  /** Milliseconds. */
  notReadyFor: number;
  conditions: { type: string; status: "True" | "False" | "Unknown"; for: number }[];
  /** Percentage of unhealthy machines in the pool above which no machine is repaired. */
  maxUnhealthy: number;
}

export interface Rules {
  /** The selected RolloutPolicy, or "defaults"; "none" while there is a conflict. */
  source: string;
  /** Why no policy could be selected, such as two that select the pool equally well; no replacement begins then. */
  conflict: string | null;
  waves: Wave[];
  /** Instead of `waves`: the size of the first wave, and the factor by which each wave is larger than the previous. */
  growth: { from: number; factor: number; soak: number } | null;
  budget: {
    machines: Amount;
    /** Maximum number of machines of one zone that may be out of service or changing; null without this limit. */
    perZone: Amount | null;
    zones: "Parallel" | "OneAfterAnother";
    /** Size of the budget that all pools share; null without such a budget. */
    cluster: number | null;
    /** Decides which pools get a free slot of the cluster budget first; absent means Normal. */
    urgency?: Urgency;
  };
  /** Absolute times (epoch ms) between which replacements may begin, in order; null means always. */
  windows: { from: number; to: number }[] | null;
  join: {
    /** Milliseconds; null means the deadline of the same name of the run (`Deadlines`). */
    instance: number | null;
    address: number | null;
    registered: number | null;
    ready: number | null;
    gates: number;
    /** How often a machine that does not join is recreated; null means the `attempts` of the run. */
    attempts: number | null;
  };
  drain: DrainRules;
  gates: Gate[];
  onFailure: "Halt" | "Rollback";
  /** Number of machines that failed for good, after all attempts, at which the revision is quarantined. */
  maxFailed: number;
  onProfileChange: "NewMachinesOnly" | "Roll";
  /** Whether machines in progress are finished before a newer change, or abandoned for it. */
  onNewChange: "Finish" | "Supersede";
  approval: "Never" | "BeforeFirst" | "BeforeEachWave";
  repair: RepairRules;
  /**
   * Whether a new image replaces machines; the default is Replace. InPlace: never, because a NodePool updates the
   * nodes. ReplaceIfRefused: only machines that cannot be updated in place.
   */
  onImageChange?: "Replace" | "InPlace" | "ReplaceIfRefused";
  /** The fields that the policy sets; the others have documented defaults. */
  inPlace?: Partial<InPlaceRules>;
  /** If absent, no snapshot of etcd is stored. */
  etcd?: EtcdRules;
}

// Machines that are members of etcd: what blocks the removal of one, and what to do before it is removed.

/** A problem of etcd that blocks the removal of its machines; `machine` is the affected machine, if it is known. */
export interface EtcdDoubt {
  machine?: string;
  says: string;
}

/** One member of etcd, as shown to people. */
interface EtcdSeat {
  name: string;
  machine?: string;
  role: "Leader" | "Voter" | "Learner";
  isWell: boolean;
  version: string;
}

/** Status of etcd; bounded, and without numbers that change on their own. */
export interface EtcdStanding {
  seats: EtcdSeat[];
  /** Number of voters that the quorum needs, and number of healthy voters. */
  quorum: { needed: number; well: number };
  /** Empty when a machine may be removed. */
  doubts: EtcdDoubt[];
}

/** Where a snapshot is stored. */
export type SnapshotKeep = EtcdRules["snapshot"];

/** A stored copy of all data of etcd. */
export interface SnapshotTaken {
  /** Digest of the file, "sha256:…". */
  digest: string;
  bytes: number;
  /** Location of the file: a path or a URL. */
  at: string;
}

/** The result of `awaitMachineRelieved`. */
export type Relieved =
  | { state: "Relieved"; snapshot: SnapshotTaken | null }
  | { state: "InDoubt"; doubts: string[] };

/** A machine to be removed, and until when (epoch ms) to wait for problems of etcd to end. */
export interface RelieveOrder {
  machine: string;
  until: number;
  /** Whether the machine is lost, so that problems of its own member do not block its removal. */
  isLost: boolean;
  /**
   * The machine will return with its data, so its own absence does not block. That includes a cluster of one or two
   * members, whose etcd is unavailable until the machine is back.
   */
  returns?: true;
  /** Texts of the problems that a person accepted; these do not block the removal. */
  taken: string[];
  /** Absent if no snapshot is stored; `name` is the file name, so that a second try overwrites the first. */
  snapshot?: SnapshotKeep & { name: string };
}

/** The CAs that machines trust, each by the first 16 hex digits of its certificate's SHA-256. */
export interface TrustedCas {
  /** The CAs that are both in the machine's kubeconfig and in its CA files. */
  cas: string[];
  /** The CAs that are only in the machine's kubeconfig or only in its CA files; absent if there are none. */
  partly?: string[];
  /** Nothing was published for the pool before, so no machine has booted with other CAs. */
  isFirst?: true;
}

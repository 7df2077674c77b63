/** A pool and its machines as the planner sees them; only activities know whose annotation does what. */

/** What makes and removes the machines of a pool; each kind has its own place in workflow ids. */
export type PoolKind = "MachineDeployment" | "ScalingGroup" | "NodePool";

/**
 * One pool of machines, which are rolled together. Without a cluster it is one of the installation that has no name for
 * its cluster; without a kind its machines are those of a MachineDeployment. A pool has the name of its Rollout, which a
 * scaling group has in a namespace though it is in none itself (`commands/scaling_group.ts`), and a NodePool with a word
 * before its own (`commands/node_pool.ts`).
 */
export interface PoolRef {
  cluster?: string;
  kind?: PoolKind;
  namespace: string;
  name: string;
}

/**
 * Held: waits to be admitted. Provisioning: no instance yet. Booting: an instance without a node.
 * Joining: a node that was never Ready. Ready: joined, and Ready now. NotReady: joined, but not Ready now, which may be
 * no more than a partition. Leaving: on its way out.
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
  /** Chosen to be removed next, by us. */
  marked: boolean;
  /** Stopped on purpose, by us. */
  held: boolean;
  /** Marked by a person, or broken: machine-controller would pick it before others, so we do. */
  expendable: boolean;
  /** Of its node's label `topology.kubernetes.io/zone`. */
  zone?: string;
  /**
   * Why it stays as it is. Its cloud protects it, and the policy says so: for good, or until that ends. It is updated in
   * place, and the target failed on it; or it does not answer.
   */
  kept?: "Skip" | "Wait" | "Failed" | "Down";
  /** When the target failed on it (epoch ms). */
  failedAt?: number;
  /** It could not fetch the target, and somebody would make it anew: it may be replaced, where the policy says so. */
  replaceable?: true;
  /** Updated in place: the target stands ready on it for its next boot. */
  staged?: true;
  /** On its way out, and its node has been not Ready for as long as makes a machine unhealthy. */
  lost?: true;
  /** What is wrong with its node, since when, and when that is long enough to repair it (epoch ms). */
  ill?: { why: string; since: number; due: number };
}

/**
 * A bounded picture of a pool: exact counts, and of each group the few members that matter next, oldest first.
 * It never carries the whole pool, so a history does not grow with the fleet.
 */
export interface PoolSnapshot {
  /** Changes when anything below does. */
  fingerprint: string;
  counts: {
    machines: number;
    /** Of the target template, not leaving. */
    updated: number;
    /** Ready now and not leaving. */
    ready: number;
    updatedReady: number;
    /** Of another template, not leaving. */
    old: number;
    /** Held before they booted: they exist on paper only. */
    held: number;
    leaving: number;
    /** Joined once and unhealthy now, not leaving. */
    ill: number;
  };
  old: Member[];
  waiting: Member[];
  joining: Member[];
  /** Of the target template, yet held or marked by us: left over from a change that was taken back. */
  stale: Member[];
  leaving: Member[];
  /** Unhealthy ones of any template, not leaving; who is due first comes first. */
  ill: Member[];
  /** Of control planes alone. */
  etcd?: EtcdStanding;
  /** Of the machines that were named, those that the pool does not have. */
  unknown?: string[];
}

/** How a pool is looked at. */
export interface PoolQuestion {
  pool: PoolRef;
  templateHash: string;
  /** Machines that are Ready but have not passed their gates: not counted as ready. */
  unproven: string[];
  repair: RepairRules;
  /** Members of each group that are listed. */
  limit: number;
  /** Machines that people named: it is told who of them is no member. */
  named?: string[];
  /** When somebody last said retry (epoch ms): a target that failed on a machine before may be tried there again. */
  retriedAt?: number;
}

// What a pool asks for now.

/** What a MachineDeployment asks for now. */
export interface Desired {
  generation: number;
  /** Identity of everything a rollout depends on; the controller signals when it changes. */
  observed: string;
  /** The part of it that decides what machines boot with; scaling leaves it alone. */
  change: string;
  /** The same without machine-controller's numbering: equal again when an earlier template is applied again. */
  specHash: string;
  /** Who wrote the template last, as far as the API server knows: a field manager. */
  actor: string;
  /** machine-controller has seen this generation and numbered its template. */
  settled: boolean;
  revision: string;
  templateHash: string;
  replicas: number;
  /** Machines above `replicas` while rolling; with 0 machine-controller removes an old machine first. */
  surge: number;
  /** Its machines are members of etcd: one at a time goes, in all groups of a cluster, and none while etcd is in doubt. */
  isControlPlane?: true;
  image: string;
  kubelet: string;
  profile: { name: string; namespace: string };
}

export type DesiredState =
  | { state: "Gone" }
  | { state: "Deleting" }
  | { state: "Present"; desired: Desired; rules: Rules };

// Where the waves of a rollout stand.

/** Where the waves stand. */
export interface WaveState {
  /** From 0; the number of waves when all are done. */
  index: number;
  /** Its machines are updated and its gates passed; epoch ms at which the soak ends. */
  soakUntil: number | null;
  /** Its gates passed. */
  passed: boolean;
  /** Somebody allowed this one to start. */
  approved: boolean;
}

/** What waves are counted in: those of the policy, and how many machines are wanted. */
export interface WaveCount extends Pick<Rules, "waves" | "growth"> {
  replicas: number;
}

// A RolloutPolicy as a run uses it: defaults filled in, durations in milliseconds, windows as absolute times.
// Cron and time zones are resolved by the activity that reads it, as their tables belong to the environment.

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

// Machines that are members of etcd too: what stands in the way of touching one, and what is done before it goes.

/** Something about etcd that keeps its machines where they are; `machine` is the one that it is about, where one is known. */
export interface EtcdDoubt {
  machine?: string;
  says: string;
}

/** One member, for people to see. */
export interface EtcdSeat {
  name: string;
  machine?: string;
  role: "Leader" | "Voter" | "Learner";
  isWell: boolean;
  version: string;
}

/** Etcd in one look; bounded, and free of numbers that change by themselves. */
export interface EtcdStanding {
  seats: EtcdSeat[];
  /** Voters that a decision needs, and those that are well. */
  quorum: { needed: number; well: number };
  /** Empty when a machine may go. */
  doubts: EtcdDoubt[];
}

/** Where a snapshot goes. */
export type SnapshotKeep = EtcdRules["snapshot"];

/** A copy of all of etcd's data as it was. */
export interface SnapshotTaken {
  /** "sha256:…" of the file. */
  digest: string;
  bytes: number;
  /** Where it is: a path, or a URL. */
  at: string;
}

/** What came of having a machine hand on what only it has. */
export type Relieved =
  | { state: "Relieved"; snapshot: SnapshotTaken | null }
  | { state: "InDoubt"; doubts: string[] };

/** A machine that is to go, and for how long doubts about etcd are waited for (epoch ms). */
export interface RelieveOrder {
  machine: string;
  until: number;
  /** It serves nobody: what is in doubt about itself keeps nobody from letting it go. */
  isLost: boolean;
  /** Doubts that a person took upon himself, as they were told. */
  taken: string[];
  /** Missing where none is kept; `name` is that of the file, by which a second try takes the place of the first. */
  snapshot?: SnapshotKeep & { name: string };
}

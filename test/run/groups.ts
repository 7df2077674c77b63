/** Everything that a test run can execute, by name: steps, which only succeed or fail, and groups of tests. */
import { registryToolNames, stackToolNames } from "../../deploy/local/tools/tool_name.ts";

/** The common fields of steps and groups. */
interface Named {
  /** Time limit for each process, in minutes. */
  limitMinutes: number;
  /** The number of cores that one of its processes keeps busy on average, including the times in which it waits. */
  load: number;
  /** The names of steps or groups that must be complete before this one begins, if the run includes them. */
  after?: string[];
}

/** A step: one Deno process with these arguments. */
export interface Step extends Named {
  args: string[];
  /** Whether the step reads every file and takes only seconds, so that it always runs. */
  isCheck?: boolean;
}

/** Tests with the same permissions and limit. */
export interface Group extends Named {
  paths: string[];
  allow: string[];
  /**
   * The number of processes that run all files of the group, because files in one process load common modules once.
   * Lists of paths in place of the number define which files share a process: a file belongs to the first list that
   * names it or a folder above it, and all files in no list share the last process. Without `shares` each file has its
   * own process, because its child processes may outlive it.
   */
  shares?: number | string[][];
  /**
   * Files whose stories share a site (an API server, Temporal and Ostler's processes): `processes` processes run them
   * all, and each starts one site. Each other file has its own process.
   */
  together?: { processes: number; files: string[] };
  /**
   * The slowest files, in descending order: one that starts late would delay the end of the run. They count as long
   * until their durations are known.
   */
  longest?: string[];
  /** Whether its files start no server: they begin before the files of groups that do. */
  isQuick?: boolean;
  /** Files that wait for the clock about half of their time, and so keep a core only half as busy. */
  waiting?: string[];
}

const noServer = [
  ...["--allow-read", "--allow-write", "--allow-env", "--allow-sys", "--allow-ffi", "--allow-run"],
  "--allow-net=127.0.0.1,localhost",
];

const allowed = ["--allow-all"];

const named = (folder: string, names: string[]): string[] => names.map((name) => `test/${folder}/${name}_test.ts`);

/** Unit tests that wait for the clock, in lists of similar duration. */
const waits = [
  ...named("unit/activities", ["pool/woken_waits", "pool/await_joined", "kube/informer", "os/hands", "etcd/snapshot"]),
  ...named("unit/activities", ["node/blocked_drain", "node/drain", "node/node_watch"]),
  "test/run_test.ts",
];
const azureWaits = named("unit/activities/clouds/azure", ["meddled", "api", "orders", "patience"]);

export const steps: Record<string, Step> = {
  fmt: { args: ["fmt", "--check"], isCheck: true, limitMinutes: 5, load: 0.5 },
  lint: { args: ["lint"], isCheck: true, limitMinutes: 5, load: 1 },
  check: { args: ["check"], isCheck: true, limitMinutes: 5, load: 1 },
  packages: { args: ["run", "--allow-all", "test/validators/install_packages.ts"], limitMinutes: 10, load: 0.5 },
  // On a fresh machine building the tools takes all cores, and longer than the time limit of a test; so a run executes
  // this step first.
  tools: {
    args: ["run", "--allow-all", "deploy/local/tools/main.ts", ...stackToolNames, ...registryToolNames],
    limitMinutes: 45,
    load: 2,
  },
  // Builds what the tests on real machines need, where such machines can run.
  prepare: {
    args: ["run", "--allow-all", "test/machines/prepare.ts"],
    limitMinutes: 45,
    load: 1,
    after: ["tools", "packages"],
  },
  // Builds what only the tests of the campaign need, which takes some more minutes.
  prepare_campaign: {
    args: ["run", "--allow-all", "test/machines/prepare.ts", "--campaign"],
    limitMinutes: 60,
    load: 1,
    after: ["tools", "packages", "prepare"],
  },
  planted: {
    args: ["run", "--allow-all", "test/planted/main.ts"],
    limitMinutes: 40,
    load: 2,
    after: ["tools"],
  },
};

export const groups: Record<string, Group> = {
  unit: {
    paths: ["test/unit", "test/run", "test/house_rules_test.ts", "test/run_test.ts"],
    allow: noServer,
    // Files that load the same modules share a process; the processes take similar times, except those with files that
    // wait.
    shares: [
      waits,
      azureWaits,
      ["test/unit/activities/backends", "test/unit/activities/clouds"],
      ["test/unit/activities"],
      ["test/unit/workers"],
      ["test/unit/profiles"],
      ["test/unit/cli"],
      ["test/unit/workflows"],
    ],
    waiting: [...waits, ...azureWaits],
    isQuick: true,
    // Some of these tests run programs of Debian's packages.
    after: ["packages"],
    limitMinutes: 15,
    // Measured: each process waits for the clock from time to time, so that four of them keep two cores busy.
    load: 0.45,
  },
  // These tests run external programs, which determine how long they take.
  programs: {
    paths: ["test/programs"],
    allow: noServer,
    shares: [named("programs", ["hand_drivers"]), named("programs", ["upgrade_hand", "renew_hand"])],
    waiting: named("programs", ["hand_drivers", "upgrade_hand", "renew_hand"]),
    isQuick: true,
    after: ["packages"],
    limitMinutes: 10,
    load: 0.55,
  },
  golden: { paths: ["test/golden"], allow: noServer, shares: 1, isQuick: true, limitMinutes: 10, load: 0.66 },
  replay: { paths: ["test/replay"], allow: noServer, shares: 1, isQuick: true, limitMinutes: 10, load: 0.66 },
  // The tests first build missing checkers; the checker that needs the kubelet's code takes some minutes.
  validators: {
    paths: ["test/validators"],
    allow: allowed,
    limitMinutes: 15,
    load: 1,
    after: ["tools", "packages"],
  },
  workflow: {
    paths: ["test/workflow"],
    allow: allowed,
    shares: 4,
    longest: [
      ...named("workflow", ["versions", "planner", "trouble", "roll_back", "budget", "drain", "restart"]),
      ...named("workflow", ["upgrade_kubernetes", "renew_certificates"]),
    ],
    limitMinutes: 20,
    // Measured: 0.3 to 0.35 of a core for each process, because stories wait for retries, soaks and deadlines.
    load: 0.35,
    after: ["tools"],
  },
  integration: {
    paths: ["test/integration"],
    allow: allowed,
    // The files are distributed to the processes in rotation, the slowest first.
    together: {
      processes: 3,
      files: [
        ...named("integration", ["web_ui", "repair", "readme", "pacing", "gates", "os_image"]),
        ...named("integration", ["rollout", "in_place", "gitops"]),
        ...named("integration/stories", ["bad_image", "pdb"]),
        ...named("integration", ["keep_machines", "trouble", "webhook", "node_operator", "deletion", "fleet_lock"]),
        // These two change objects of their site that cannot be restored, so the story after each starts a new site.
        ...named("integration", ["publishing", "handover"]),
      ],
    },
    longest: named("integration", ["clusters", "scaling_group", "join", "demo", "requests"]),
    // These wait for the deadlines of machines that do not join, or while an API server is suspended.
    waiting: named("integration", ["join", "demo"]),
    limitMinutes: 40,
    // Measured: 0.25 to 0.5 of a core for each process, including its API server, Temporal and controllers.
    load: 0.3,
    after: ["tools", "packages"],
  },
  chaos: { paths: ["test/chaos"], allow: allowed, limitMinutes: 240, load: Infinity },
  machines: {
    paths: ["test/machines"],
    allow: allowed,
    longest: named("machines", ["boot"]),
    limitMinutes: 40,
    // Machines that install packages fill a core, and then wait for each other; with a load of 1 nothing could run
    // beside two of these.
    load: 0.7,
    after: ["prepare"],
  },
  // Required for a release, but not for a change. They run one after the other, because some of them check what remains
  // on the host.
  campaign: {
    paths: ["test/campaign"],
    allow: allowed,
    limitMinutes: 40,
    load: Infinity,
    after: ["prepare_campaign"],
  },
};

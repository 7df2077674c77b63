/** What can be run, by name: steps, which only succeed or fail, and groups of tests. */

/** Arguments of one deno. */
export interface Step {
  args: string[];
  limitMinutes: number;
}

/** Tests with the same permissions and limit. */
export interface Group {
  paths: string[];
  allow: string[];
  /** Files share one process, in threads of their own. */
  isParallel?: boolean;
  /**
   * Each file in a process of its own, so many of them side by side: threads of Temporal's native client may outlive
   * the file that started them, and crash.
   */
  lanes?: number;
  /** Files that take longest, the longest first: begun last, one of them would keep all other lanes waiting. */
  longest?: string[];
  /** For each process. */
  limitMinutes: number;
}

const noServer = [
  ...["--allow-read", "--allow-write", "--allow-env", "--allow-sys", "--allow-ffi", "--allow-run"],
  "--allow-net=127.0.0.1,localhost",
];

const allowed = ["--allow-all"];

export const steps: Record<string, Step> = {
  fmt: { args: ["fmt", "--check"], limitMinutes: 5 },
  lint: { args: ["lint"], limitMinutes: 5 },
  check: { args: ["check"], limitMinutes: 5 },
  packages: { args: ["run", "--allow-all", "test/validators/install_packages.ts"], limitMinutes: 10 },
  // Building them on a fresh machine takes longer than any test may.
  tools: { args: ["run", "--allow-all", "deploy/local/tools/main.ts"], limitMinutes: 45 },
  // The same of what machines are made of, where they can run.
  prepare: { args: ["run", "--allow-all", "test/machines/prepare.ts"], limitMinutes: 45 },
};

export const groups: Record<string, Group> = {
  unit: {
    paths: ["test/unit", "test/house_rules_test.ts", "test/run_test.ts"],
    allow: noServer,
    isParallel: true,
    limitMinutes: 15,
  },
  golden: { paths: ["test/golden"], allow: noServer, isParallel: true, limitMinutes: 10 },
  replay: { paths: ["test/replay"], allow: noServer, limitMinutes: 10 },
  // Missing checkers are built first, which takes the kubelet's code some minutes.
  validators: { paths: ["test/validators"], allow: allowed, limitMinutes: 15 },
  workflow: {
    paths: ["test/workflow"],
    allow: allowed,
    lanes: 3,
    longest: ["trouble", "roll_back", "budget", "drain", "restart"].map((name) => `test/workflow/${name}_test.ts`),
    limitMinutes: 20,
  },
  integration: {
    paths: ["test/integration"],
    allow: allowed,
    lanes: 2,
    longest: ["stories", "web_ui", "pacing", "join", "repair"].map((name) => `test/integration/${name}_test.ts`),
    limitMinutes: 40,
  },
  chaos: { paths: ["test/chaos"], allow: allowed, lanes: 1, limitMinutes: 240 },
  machines: {
    paths: ["test/machines"],
    allow: allowed,
    lanes: 2,
    longest: ["rolling", "failure"].map((name) => `test/machines/${name}_test.ts`),
    limitMinutes: 40,
  },
  // Alone on this host, as they look at what is left on it.
  host: { paths: ["test/host"], allow: allowed, lanes: 1, limitMinutes: 20 },
};

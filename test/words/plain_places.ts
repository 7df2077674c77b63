/** Folders (with a slash at the end) and files in plain English. `deno task words` shows which folders can be added. */
export const plainPlaces: string[] = [
  ...["autoscaler", "backends", "clouds", "etcd", "gates", "handover", "kube", "node", "node_version", "notices", "os"]
    .map((room) => `activities/${room}/`),
  ...["os_image", "policy", "pool", "status", "temporal", "x509"].map((room) => `activities/${room}/`),
  ...["cli/", "docs/", "examples/", "profiles/", "workers/"],
  ...["contracts", "node_version", "policy", "status"].map((room) => `workflows/${room}/`),
  ...["chart", "image", "kubernetes", "overlays", "release"].map((folder) => `deploy/${folder}/`),
  "deploy/local/",
  ...[
    "bench",
    "campaign",
    "chaos",
    "golden",
    "integration",
    "machines",
    "replay",
    "run",
    "support",
    "unit",
    "validators",
  ]
    .map((folder) => `test/${folder}/`),
  ...["test/words/", "test/workflow/"],
  // Files and documents whose neighbours are not plain yet.
  ...["README.md", "at_work.ts", "bugs.ts", "cluster.ts", "failures.ts", "measures.ts", "mod.ts", "own_cluster.ts"]
    .map((name) => `activities/${name}`),
  ...["deploy/README.md", "deploy/THREATS.md", "test/README.md"],
  ...["house_rules", "house_rules_test", "run", "run_test"].map((name) => `test/${name}.ts`),
  ...["main", "run_test_file", "verdict", "working_copy"].map((name) => `test/planted/${name}.ts`),
];

const isSurvey = Deno.env.get("OSTLER_WORDS") === "all";

/** Returns whether a path of the repository must be in plain English; `OSTLER_WORDS=all` extends that to all paths. */
export function mustBePlain(path: string): boolean {
  return isSurvey || plainPlaces.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

/** Folders (with a slash at the end) and files in plain English. `deno task words` shows which folders can be added. */
export const plainPlaces: string[] = [
  ...[
    "autoscaler",
    "backends",
    "clouds",
    "etcd",
    "gates",
    "handover",
    "kube",
    "node",
    "node_version",
    "notices",
    "os",
    "os_image",
  ]
    .map((room) => `activities/${room}/`),
  ...["policy", "status", "temporal", "x509"].map((room) => `activities/${room}/`),
  ...["cli/setup/", "workflows/status/page/", "examples/"],
  ...["chart/monitoring", "chart/sizes", "overlays", "release"].map((folder) => `deploy/${folder}/`),
  ...["cloud/groups", "cloud/image_nodes", "demo/stories/in_place", "demo/stories/installed", "installation", "mirror"]
    .map((folder) => `deploy/local/${folder}/`),
  ...["machines/groups", "machines/ostree", "machines/policies", "stack/temporal", "tools/recipes"]
    .map((folder) => `deploy/local/${folder}/`),
  ...[
    "amzn2",
    "apt",
    "boot",
    "cloud_config",
    "containerd",
    "debian",
    "engines",
    "flatcar",
    "node",
    "rhel",
    "rockylinux",
  ]
    .map((folder) => `profiles/${folder}/`),
  ...["rpm", "trial", "ubuntu"].map((folder) => `profiles/${folder}/`),
  ...[
    "cli/completion",
    "deploy/hands",
    "deploy/machines/groups",
    "deploy/tools",
    "workflows/commands",
    "workflows/steps",
  ]
    .map((folder) => `test/unit/${folder}/`),
  "test/words/",
  // Files and documents whose neighbours are not plain yet.
  ...["README.md", "at_work.ts", "bugs.ts", "cluster.ts", "failures.ts", "measures.ts", "mod.ts", "own_cluster.ts"]
    .map((name) => `activities/${name}`),
  "deploy/chart/Chart.yaml",
  ...["controller", "kinds_and_rights", "namespaces", "rights", "webhook"]
    .map((name) => `deploy/chart/templates/${name}.yaml`),
  ...["admission/hold_new_machines", "approval/node_approver", "crds/rollout_policies", "hands/image", "namespace"]
    .map((name) => `deploy/kubernetes/${name}.yaml`),
  ...["holding", "mutating", "cert_manager/kustomization"].map((name) => `deploy/kubernetes/webhook/${name}.yaml`),
  ...["docs/README.md", "docs/explanation/performance.md", "profiles/README.md"],
];

const isSurvey = Deno.env.get("OSTLER_WORDS") === "all";

/** Returns whether a path of the repository must be in plain English; `OSTLER_WORDS=all` extends that to all paths. */
export function mustBePlain(path: string): boolean {
  return isSurvey || plainPlaces.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

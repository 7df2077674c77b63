/** Folders (with a slash at the end) and files in plain English. `deno task words` shows which folders can be added. */
export const plainPlaces: string[] = [
  ...["deploy/local/machines/ostree/", "deploy/local/stack/temporal/", "deploy/overlays/"],
  ...["amzn2", "boot", "containerd", "debian", "node", "rhel", "rockylinux", "ubuntu"].map((it) => `profiles/${it}/`),
  ...["test/unit/cli/completion/", "test/unit/deploy/hands/", "test/unit/workflows/steps/", "test/words/"],
  "workflows/status/page/",
  // Documents whose neighbours are not plain yet.
  ...["deploy/chart/Chart.yaml", "deploy/chart/sizes/pools_5000.yaml"],
  ...["controller", "kinds_and_rights", "namespaces", "rights", "webhook"]
    .map((name) => `deploy/chart/templates/${name}.yaml`),
  ...["admission/hold_new_machines", "approval/node_approver", "crds/rollout_policies", "hands/image", "namespace"]
    .map((name) => `deploy/kubernetes/${name}.yaml`),
  ...["holding", "mutating", "cert_manager/kustomization"].map((name) => `deploy/kubernetes/webhook/${name}.yaml`),
  ...["docs/README.md", "docs/explanation/performance.md", "profiles/README.md"],
  ...["examples/node-pool.yaml", "examples/osp-acme.yaml", "examples/policy.yaml"],
];

const isSurvey = Deno.env.get("OSTLER_WORDS") === "all";

/** Returns whether a path of the repository must be in plain English; `OSTLER_WORDS=all` extends that to all paths. */
export function mustBePlain(path: string): boolean {
  return isSurvey || plainPlaces.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

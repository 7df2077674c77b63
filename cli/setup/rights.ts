/**
 * The permissions in Kubernetes that every installation needs, without those that depend on a setting, such as
 * approve-joining-nodes (`node_approver.yaml`) or a cloud (`cloud/`). `deploy/kubernetes/rbac` has all permissions.
 */

export interface Right {
  verb: string;
  group: string;
  /** The plural name, with a subresource if there is one, such as "pods/eviction". */
  resource: string;
  /** Missing for the whole cluster. */
  namespace?: string;
  name?: string;
  /**
   * Set if the permission is needed in the management cluster, where the processes run. Permissions on profiles and
   * configs are without this field, because profiles and configs are always in the management cluster.
   */
  cluster?: "management";
}

/** The namespaces in which permissions are needed. */
export interface Places {
  /** The namespace of the processes, with their Lease and ServiceAccounts. */
  system: string;
  /** The namespace of profiles and configs. */
  profiles: string;
}

const [machines, profiles, ours] = ["cluster.k8s.io", "operatingsystemmanager.k8c.io", "ostler.dev"];
const updates = "update.edgeless.systems";
const updateKinds = "nodeversions scalinggroups pendingnodes joiningnodes autoscalingstrategies";
const [bootstrap, system] = ["cloud-init-settings", "kube-system"];
const identity: Right = { verb: "get", group: "", resource: "namespaces", name: system };

/** The ConfigMaps with the budgets that pools share. */
const budgets = ["ostler-budget", "ostler-control-planes"];

/**
 * Returns the permissions that each ServiceAccount needs; `shared` is the namespace of the budgets that pools share,
 * which is that of the profiles unless these are in a management cluster.
 */
export function rightsOf(
  places: Places,
  shared: string = places.profiles,
): Record<"ostler-controller" | "ostler-worker", Right[]> {
  return {
    "ostler-controller": [
      ...rights("list watch", machines, "machinedeployments machines"),
      ...rights("list watch", "", "nodes"),
      ...rights("list watch", profiles, "operatingsystemprofiles"),
      ...rights("list watch", ours, "rollouts rolloutpolicies nodepools osimages"),
      ...rights("list watch", updates, updateKinds),
      ...within(places.profiles, rights("create", profiles, "operatingsystemprofiles")),
      ...within(places.profiles, rights("update", profiles, "operatingsystemprofiles")).map(named("osp-ubuntu")),
      ...besideProcesses(within(places.system, rights("get create update", "coordination.k8s.io", "leases"))),
      identity,
    ],
    "ostler-worker": [
      ...rights("list watch patch", machines, "machinedeployments"),
      ...rights("list watch patch delete", machines, "machines"),
      ...rights("list watch patch", "", "nodes"),
      ...rights("create", "", "pods/eviction"),
      ...rights("create patch", ours, "rollouts"),
      ...rights("list watch patch", ours, "nodepools"),
      ...rights("patch", ours, "rollouts/status osimages/status"),
      ...rights("get", ours, "osimages"),
      ...rights("list watch", updates, updateKinds),
      ...rights("create patch delete", updates, "scalinggroups pendingnodes"),
      ...rights("patch", updates, "nodeversions/status scalinggroups/status pendingnodes/status autoscalingstrategies"),
      ...rights("delete", updates, "joiningnodes"),
      ...rights("create", "authentication.k8s.io", "tokenreviews"),
      ...within(bootstrap, rights("get create update delete", "", "secrets")),
      ...within(bootstrap, rights("create", "rbac.authorization.k8s.io", "roles rolebindings")),
      ...within(system, rights("get create update delete", "", "secrets")),
      ...within(places.profiles, rights("create update", profiles, "operatingsystemconfigs")),
      ...within(shared, rights("create", "", "configmaps")),
      ...budgets.flatMap((name) => within(shared, rights("get patch", "", "configmaps")).map(named(name))),
      identity,
    ],
  };
}

/** Returns a permission for each verb on each resource of a group; `verbs` and `resources` are separated by spaces. */
export function rights(verbs: string, group: string, resources: string): Right[] {
  return resources.split(" ").flatMap((resource) => verbs.split(" ").map((verb) => ({ verb, group, resource })));
}

/** Returns the permissions, limited to one namespace. */
export function within(namespace: string, needed: Right[]): Right[] {
  return needed.map((right) => ({ ...right, namespace }));
}

/** Returns a function that limits a permission to one object. */
function named(name: string): (right: Right) => Right {
  return (right) => ({ ...right, name });
}

/**
 * Returns the permissions, marked as needed in the cluster of the processes: the management cluster, if there is one.
 */
export function besideProcesses(needed: Right[]): Right[] {
  return needed.map((right) => ({ ...right, cluster: "management" }));
}

/** Returns a permission as text: `patch machines.cluster.k8s.io`. */
export function rightText({ verb, group, resource, namespace, name }: Right): string {
  const [plural = "", sub] = resource.split("/");
  const kind = `${group === "" ? plural : `${plural}.${group}`}${sub === undefined ? "" : `/${sub}`}`;
  return `${verb} ${kind}${name === undefined ? "" : ` "${name}"`}${namespace === undefined ? "" : ` in ${namespace}`}`;
}

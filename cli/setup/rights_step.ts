/** Whether the processes may do in Kubernetes what they have to; nothing is granted here. */
import type { Kube } from "../../activities/kube/client.ts";
import { homeOf } from "../../activities/kube/home.ts";
import { statusOf } from "../../activities/kube/status.ts";
import type { Cluster } from "../connect/cluster.ts";
import { type Places, type Right, rightsOf, rightText } from "./rights.ts";
import type { Step } from "./step.ts";

/** Asks the API server about each process by the name of its ServiceAccount. */
export async function checkRights(cluster: Cluster, places: Places): Promise<Step[]> {
  const accounts = Object.entries(rightsOf(places));
  return await Promise.all(accounts.map(async ([account, needed]) => {
    const about = `rights of ServiceAccount "${places.system}/${account}"`;
    const user = `system:serviceaccount:${places.system}:${account}`;
    try {
      const missing = await missingOf(cluster, user, needed);
      if (missing.length === 0) return { about, outcome: "Present", message: "it may do what it has to" };
      return { about, outcome: "Refused", message: `it may not ${named(missing)}; ${remedy}` };
    } catch (error) {
      if (statusOf(error) !== 403) throw error;
      return { about, outcome: "Unknown", message: "not looked at: who asks may not create subjectaccessreviews" };
    }
  }));
}

const leaseGroup = "coordination.k8s.io";
const remedy = "apply deploy/kubernetes/rbac, or the chart";

/** Told by name: the others go the way of these. */
const mostNamed = 5;

function named(missing: Right[]): string {
  const more = missing.length - mostNamed;
  return `${missing.slice(0, mostNamed).map(rightText).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

async function missingOf(cluster: Cluster, user: string, needed: Right[]): Promise<Right[]> {
  const answers = await Promise.all(needed.map(async (right) => {
    const { kube, namespace } = whereNeeded(cluster, right);
    const { verb, group, name } = right;
    const [resource, subresource] = right.resource.split("/");
    const resourceAttributes = { verb, group, resource, subresource, namespace, name };
    const { status } = await kube.custom.createClusterCustomObject({
      ...{ group: "authorization.k8s.io", version: "v1", plural: "subjectaccessreviews" },
      body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user, resourceAttributes } },
    });
    return (status as { allowed?: boolean } | undefined)?.allowed === true;
  }));
  return needed.filter((_, index) => !answers[index]);
}

/** Profiles, configs and the lease may be in a management cluster, and of profiles one namespace is looked at there. */
function whereNeeded({ kube }: Cluster, right: Right): { kube: Kube; namespace: string | undefined } {
  const { group, namespace } = right;
  const { management } = kube;
  const kind = { group, version: "", plural: right.resource };
  if (!management || (group !== leaseGroup && homeOf(kube, kind) === kube)) return { kube, namespace };
  return { kube: management.kube, namespace: namespace ?? management.namespace };
}

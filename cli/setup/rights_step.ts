/** Whether the processes may do in Kubernetes what they have to; nothing is granted here. */
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

const remedy = "apply deploy/kubernetes/rbac, or the chart";

/** Told by name: the others go the way of these. */
const mostNamed = 5;

function named(missing: Right[]): string {
  const more = missing.length - mostNamed;
  return `${missing.slice(0, mostNamed).map(rightText).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

async function missingOf({ kube }: Cluster, user: string, needed: Right[]): Promise<Right[]> {
  const answers = await Promise.all(needed.map(async (right) => {
    const { verb, group, namespace, name } = right;
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

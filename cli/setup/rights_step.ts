/** Checks the permissions of the processes in Kubernetes, without granting any. */
import { homeOf, type Kube, sharedNamespace } from "../../activities/kube/client.ts";
import { statusOf } from "../../activities/kube/status.ts";
import type { NamedCluster } from "../connect/cluster.ts";
import { type Places, type Right, rightsOf, rightText } from "./rights.ts";
import type { Step } from "./step.ts";
import { judgeWebhook, type WebhookRights, webhookRightsOf } from "./webhook_rights.ts";

/** Asks the API server, by SubjectAccessReviews, whether the ServiceAccount of each process has its permissions. */
export async function checkRights(cluster: NamedCluster, places: Places): Promise<Step[]> {
  const accounts = Object.entries(rightsOf(places, sharedNamespace(cluster.kube, places.profiles)));
  const isSplit = cluster.kube.management !== undefined;
  return await Promise.all([
    ...accounts.map(([account, needed]) =>
      lookAt(cluster, { places, account }, async (missingOf) => {
        const missing = await missingOf(needed);
        if (missing.length === 0) return { outcome: "Present", message: "all permissions present" };
        return { outcome: "Refused", message: `missing permissions: ${named(missing)}; ${remedy}` };
      })
    ),
    ...webhookRightsOf(places, isSplit).map((needed) => lookAtWebhook(cluster, places, needed)),
  ]);
}

function lookAtWebhook(cluster: NamedCluster, places: Places, needed: WebhookRights): Promise<Step> {
  const { where, judging, certificate } = needed;
  return lookAt(cluster, { places, account: "ostler-webhook", where }, async (missingOf) => {
    const [duties, own, isHeld] = await Promise.all([
      missingOf(judging),
      missingOf(certificate),
      !needed.isForPools || hasPolicies(cluster),
    ]);
    return judgeWebhook({ ...needed, duties, own, isHeld }, named);
  });
}

type Finding = Pick<Step, "outcome" | "message">;
type Look = (missingOf: (needed: Right[]) => Promise<Right[]>) => Promise<Finding>;

async function lookAt(
  cluster: NamedCluster,
  { places: { system }, account, where = "" }: { places: Places; account: string; where?: string },
  look: Look,
): Promise<Step> {
  const about = `permissions of ServiceAccount "${system}/${account}"${where}`;
  const user = `system:serviceaccount:${system}:${account}`;
  try {
    return { about, ...await look((needed) => missingOf(cluster, user, needed)) };
  } catch (error) {
    if (statusOf(error) !== 403) throw error;
    return { about, outcome: "Unknown", message: "skipped: you cannot create SubjectAccessReviews" };
  }
}

async function hasPolicies({ kube }: NamedCluster): Promise<boolean> {
  const { resources } = await kube.custom.getAPIResources({ group: "admissionregistration.k8s.io", version: "v1" });
  return resources.some(({ name }) => name === "mutatingadmissionpolicies");
}

/** The remedy for missing permissions of controller and worker. */
const remedy = "apply deploy/kubernetes/rbac, or the chart";

/** Maximum permissions that a message names: the remedy for the others is the same. */
const mostNamed = 5;

function named(missing: Right[]): string {
  const more = missing.length - mostNamed;
  return `${missing.slice(0, mostNamed).map(rightText).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

async function missingOf(cluster: NamedCluster, user: string, needed: Right[]): Promise<Right[]> {
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

/**
 * Returns the cluster and the namespace in which a permission is needed; permissions on profiles and configs in a
 * management cluster are checked only in its namespace of profiles.
 */
function whereNeeded({ kube }: NamedCluster, right: Right): { kube: Kube; namespace: string | undefined } {
  const { group, namespace, cluster } = right;
  const { management } = kube;
  if (!management) return { kube, namespace };
  if (cluster === "management") return { kube: management.kube, namespace };
  const home = homeOf(kube, { group, version: "", plural: right.resource });
  return { kube: home, namespace: home === kube ? namespace : namespace ?? management.namespace };
}

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { type Right, rightsOf, rightText } from "../../../../cli/setup/rights.ts";

interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

interface Role {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules: Rule[];
}

function rolesOf(process: string): Role[] {
  const file = new URL(`../../../../deploy/kubernetes/rbac/${process}.yaml`, import.meta.url);
  const objects = parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS() as Role);
  return objects.filter(({ kind }) => kind === "Role" || kind === "ClusterRole");
}

function grants({ metadata, rules }: Role, { verb, group, resource, namespace, name }: Right): boolean {
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) return false;
  return rules.some(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb) &&
    (resourceNames === undefined || (name !== undefined && resourceNames.includes(name)))
  );
}

Deno.test("every right that `ostler setup` asks about is one that our manifests grant", () => {
  for (const [account, needed] of Object.entries(rightsOf({ system: "ostler-system", profiles: "kube-system" }))) {
    const roles = rolesOf(account.replace("ostler-", ""));
    const missing = needed.filter((right) => !roles.some((role) => grants(role, right))).map(rightText);
    assert.deepEqual(missing, [], account);
  }
});

Deno.test("rightText reads as kubectl auth can-i would be asked", () => {
  const right = { verb: "create", group: "apps", resource: "deployments/scale", namespace: "a", name: "b" };
  assert.equal(rightText(right), 'create deployments.apps/scale "b" in a');
  assert.equal(rightText({ verb: "get", group: "", resource: "nodes" }), "get nodes");
});

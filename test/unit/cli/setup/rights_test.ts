import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { type Right, rightsOf, rightText } from "../../../../cli/setup/rights.ts";
import { judgeWebhook, webhookRightsOf } from "../../../../cli/setup/webhook_rights.ts";

const places = { system: "ostler-system", profiles: "kube-system" };

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

function rolesOf(process: string, path = `rbac/${process}`): Role[] {
  const file = new URL(`../../../../deploy/kubernetes/${path}.yaml`, import.meta.url);
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

Deno.test("setup permissions: the manifests grant each ServiceAccount every permission that `ostler setup` checks", () => {
  for (const [account, needed] of Object.entries(rightsOf(places))) {
    const roles = rolesOf(account.replace("ostler-", ""));
    const missing = needed.filter((right) => !roles.some((role) => grants(role, right))).map(rightText);
    assert.deepEqual(missing, [], account);
  }
});

Deno.test("setup permissions: the manifests grant the webhook exactly the permissions that `ostler setup` checks", () => {
  const roles = rolesOf("webhook", "webhook/rbac");
  const needed = webhookRightsOf(places).flatMap(({ judging, certificate }) => [...judging, ...certificate]);
  assert.deepEqual(needed.filter((right) => !roles.some((role) => grants(role, right))).map(rightText), []);
  const granted = roles.flatMap(({ rules }) => rules).flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`))
  );
  assert.deepEqual(granted.filter((each) => !needed.some(({ verb, resource }) => each === `${verb} ${resource}`)), []);
});

Deno.test("judgeWebhook: accepts all permissions, all except those for its own certificate, or none while a policy holds new machines", () => {
  const needed = webhookRightsOf(places)[0] ?? assert.fail();
  const { judging, certificate } = needed;
  const judge = (duties: Right[], own: Right[], isHeld = true): [string, string] => {
    const { outcome, message } = judgeWebhook({ ...needed, duties, own, isHeld }, (all) => `${all.length}`);
    return [outcome, message];
  };
  assert.deepEqual(judge([], []), ["Present", "all permissions present"]);
  assert.match(judge(judging, certificate).join(), /^Present,none, as expected/);
  assert.match(
    judge(judging, certificate, false).join(),
    /^Refused,.* without MutatingAdmissionPolicies .*before_1\.36, or the chart$/,
  );
  assert.match(
    judge([], certificate).join(),
    /^Present,.* for a mounted certificate present; .* missing permissions: 7$/,
  );
  for (
    const [duties, own, count] of [[[], certificate.slice(1), 6], [
      judging.slice(1),
      certificate,
      judging.length - 1,
    ]] as const
  ) {
    const [outcome, message] = judge([...duties], [...own], false);
    assert.deepEqual([outcome, message.startsWith(`missing permissions: ${count};`)], ["Refused", true], message);
  }
});

Deno.test("rightText: writes verb, resource, API group, name and namespace of a permission, as for kubectl auth can-i", () => {
  const right = { verb: "create", group: "apps", resource: "deployments/scale", namespace: "a", name: "b" };
  assert.equal(rightText(right), 'create deployments.apps/scale "b" in a');
  assert.equal(rightText({ verb: "get", group: "", resource: "nodes" }), "get nodes");
});

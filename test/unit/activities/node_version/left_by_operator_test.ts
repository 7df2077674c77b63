/** Left-overs of the Constellation node operator, and of the operators that it uses, after a change to Ostler. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { letAutoscalersGo } from "../../../../activities/autoscaler/hold.ts";
import { inheritanceOf, keptFrom } from "../../../../activities/backends/scaling_group/inheritance.ts";
import { surveyNodeVersion } from "../../../../activities/backends/scaling_group/version_survey.ts";
import { same } from "../../../../activities/node_version/classify.ts";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { usualHandOver } from "../../../../activities/policy/hand_over_for.ts";
import { images, spec, worldOf } from "../../../support/clouds/azure_world.ts";
import { GroupInMemory, next } from "../../../support/group_in_memory.ts";

Deno.test("fault inheritanceOf: leaves out the taints of a node maintenance, with which the new node would get no pods", () => {
  const ofMaintenance = ["medik8s.io/drain", "kubevirt.io/drain", "medik8s.io/remediation"]
    .map((key) => ({ key, effect: "NoSchedule" }));
  const own = { key: "dedicated", value: "db", effect: "NoSchedule" };
  const donor = { labels: {}, annotations: {}, taints: [...ofMaintenance, own] };
  deepEqual(inheritanceOf(donor, usualHandOver).taints, [own]);
  // Records of earlier versions have such taints.
  deepEqual(keptFrom(donor).taints, [own]);
});

const outdated = { type: "Outdated", status: "True", reason: "NodeVersionsOutOfDate", message: "Some are out of date" };
const statuses: [what: string, status: object, isHeld: boolean][] = [
  ["is taken over if that operator replaced nodes", { conditions: [outdated] }, true],
  ["stays off if all nodes were up to date", { conditions: [{ ...outdated, status: "False" }] }, false],
  ["stays off if Ostler wrote the status", { conditions: [{ ...outdated, observedGeneration: 1 }] }, false],
];

for (const [what, status, isHeld] of statuses) {
  Deno.test(`fault survey: an autoscaler that the Constellation node operator turned off ${what}`, async () => {
    const group = new GroupInMemory();
    group.ask(next);
    const version = group.kube.get("nodeversions", "v");
    if (version) version["status"] = { budget: 0, activeclusterversionupgrade: false, ...status };
    group.kube.put("autoscalingstrategies", { metadata: { name: "a" }, spec: { enabled: false } });
    for (let nth = 0; nth < 2; nth++) {
      const seen = await surveyNodeVersion(group.client, { object: { name: "v" } });
      equal(seen.state === "Present" && seen.isHeld, isHeld);
    }
    await letAutoscalersGo(group.client, { holder: "v" });
    deepEqual(group.kube.get("autoscalingstrategies", "a")?.["spec"], { enabled: isHeld });
  });
}

const plain = "edgelesssystems:constellation:constellation:2.14.2";
const uri = "constellation-marketplace-image://Azure?offer=constellation&publisher=edgelesssystems" +
  "&sku=constellation&version=2.14.2";

Deno.test("fault openAzure: boots an image of the marketplace that Constellation names by a URI, and reports it in that form", async () => {
  await using world = worldOf({ groups: [{ ...spec, template: { image: plain } }] });
  const driver = await world.open();
  // The ID is the one that earlier versions of Ostler recorded, and can set again.
  deepEqual(await driver.template(spec.id), { id: plain, image: uri });
  equal((await driver.ensureImage({ group: spec.id, image: images[1] })).image, images[1]);
  equal((await driver.ensureImage({ group: spec.id, image: uri })).image, uri);
  equal(world.cloud.group(spec.id)?.boots.fields.image, plain);
  const calls = world.stub.calls.length;
  equal((await driver.ensureImage({ group: spec.id, image: plain })).image, uri);
  deepEqual(world.stub.calls.slice(calls), ["get"]);
  for (const image of [uri.replace("2.14.2", "latest"), uri.replace("Azure", "GCP"), uri.replace("sku=", "plan=")]) {
    await rejects(driver.ensureImage({ group: spec.id, image }), { type: "CloudRefused" });
  }
});

Deno.test("fault hashOf: both forms of an image of Azure's marketplace are one image, and others stay different", () => {
  equal(hashOf({ image: uri, components: "c" }), hashOf({ image: plain, components: "c" }));
  equal(same(uri.toUpperCase(), plain), true);
  equal(same(uri.replace("2.14.2", "2.14.3"), plain), false);
});

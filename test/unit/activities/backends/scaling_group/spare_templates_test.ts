import { deepEqual, rejects } from "node:assert/strict";
import { discoverScalingGroups } from "../../../../../activities/backends/scaling_group/discovery.ts";
import { denied, unavailable } from "../../../../../activities/failures.ts";
import { GroupInMemory } from "../../../../support/group_in_memory.ts";

const boots = (template: string): string => JSON.stringify({ image: "i", components: "", template });

Deno.test("fault G11: discovery deletes old templates, except those that a group boots or can be rolled back to", async () => {
  const group = new GroupInMemory();
  const driver = await group.driver();
  const asked: (readonly string[])[] = [];
  driver.deleteSpareTemplates = ({ keep }) => Promise.resolve(void asked.push(keep));
  const { metadata } = group.kube.get("scalinggroups", "workers") ?? {};
  if (metadata) {
    metadata.annotations = {
      ...{ "ostler.dev/boots": boots("t3"), "ostler.dev/booted-before": boots("t2") },
      "ostler.dev/went-back": JSON.stringify({ from: "x", boots: JSON.parse(boots("t1")) }),
    };
  }
  await discoverScalingGroups(group.client, 0);
  deepEqual(asked, [["t3", "t2", "t1"]]);
});

Deno.test("fault G11: discovery continues without the permission to delete templates, and fails when the deletion fails otherwise", async () => {
  const group = new GroupInMemory();
  const driver = await group.driver();
  driver.deleteSpareTemplates = () => Promise.reject(denied("Failed to delete versions: UnauthorizedOperation"));
  deepEqual((await discoverScalingGroups(group.client, 0)).groups, 1);
  driver.deleteSpareTemplates = () => Promise.reject(unavailable("Failed to delete versions: HTTP 503"));
  await rejects(discoverScalingGroups(group.client, 0), { type: "ApiUnavailable" });
});

import { equal, ok, rejects } from "node:assert/strict";
import { spec, worldOf } from "../../../../support/clouds/aws_world.ts";

const failures: { code: string; type: string }[] = [
  ...["RequestLimitExceeded", "InternalError", "Unavailable"].map((code) => ({ code, type: "ApiUnavailable" })),
  { code: "UnauthorizedOperation", type: "AccessDenied" },
  ...["InvalidParameterValue", "InvalidAMIID.NotFound"].map((code) => ({ code, type: "CloudRefused" })),
];

for (const { code, type } of failures) {
  Deno.test(`K10 openAws: fails with ${type} when a launch answers with ${code}`, async () => {
    await using world = worldOf({ launchErrors: [code] });
    const order = (await world.driver).order({ group: spec.id, token: "t" });
    await rejects(order, { type, message: `Failed to order an instance of "Workers-asg": ${code}: it failed` });
  });
}

for (const code of ["VcpuLimitExceeded", "InsufficientVolumeCapacity", "ReservationCapacityExceeded"]) {
  Deno.test(`K10 openAws: treats ${code} as missing capacity`, async () => {
    await using world = worldOf({ launchErrors: [code] });
    const answer = await (await world.driver).order({ group: spec.id, token: "t" });
    ok(answer.outcome === "NoCapacity");
    equal(answer.says, `${code}: it failed; ${code}: it failed`);
  });
}

Deno.test("K8 openAws: orders again when AWS reported neither an instance nor an error", async () => {
  await using world = worldOf({ launchErrors: [] });
  await rejects((await world.driver).order({ group: spec.id, token: "t" }), { type: "ApiUnavailable" });
});

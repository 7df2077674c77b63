import { deepEqual, equal, rejects } from "node:assert/strict";
import {
  failureOf,
  isAbsent,
  isFinal,
  isKnown,
  isWithoutRoom,
  refusalIn,
  refusalOf,
} from "../../../../../activities/clouds/google/refusal.ts";
import { open, spec } from "../../../../support/clouds/google_world.ts";

function answer(status: number, reason: string, message = "it will not"): ReturnType<typeof refusalOf> {
  return refusalOf({ status, message, response: { data: { error: { errors: [{ reason }] } } } });
}

const lacks = [
  ...["ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "RESOURCE_POOL_EXHAUSTED"],
  ...["REGION_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "QUOTA_EXCEEDED", "GLOBAL_QUOTA_EXCEEDED", "IP_SPACE_EXHAUSTED"],
  ...["IP_SPACE_EXHAUSTED_WITH_DETAILS", "GCE_STOCKOUT", "RESERVATION_CAPACITY_EXCEEDED"],
];

for (const code of lacks) {
  Deno.test(`K10 openGoogle: treats ${code} as missing capacity`, () => {
    const refusal = refusalIn({ errors: [{ code, message: "none left" }] });
    deepEqual(refusal && [isWithoutRoom(refusal), isFinal(refusal)], [true, true]);
  });
}

const sorts: [ReturnType<typeof refusalOf> | undefined, string][] = [
  [answer(429, "quotaExceeded"), "ApiUnavailable"],
  [answer(403, "rateLimitExceeded"), "ApiUnavailable"],
  [answer(403, "resourceOperationRateExceeded"), "ApiUnavailable"],
  [answer(400, "resourceNotReady"), "ApiUnavailable"],
  [answer(409, "conflict"), "ApiUnavailable"],
  [answer(412, "conditionNotMet"), "ApiUnavailable"],
  [answer(403, "forbidden"), "AccessDenied"],
  [refusalIn({ errors: [{ code: "PERMISSIONS_ERROR", message: "no" }] }), "AccessDenied"],
  [refusalIn({ errors: [{ code: "RESOURCE_NOT_READY", message: "no" }] }), "ApiUnavailable"],
  [refusalIn({ errors: [{ code: "INVALID_FIELD_VALUE", message: "no" }] }), "CloudRefused"],
  [answer(409, "alreadyExists"), "CloudRefused"],
  [
    refusalOf(new Error("The configured universe domain (a) does not match the universe domain found (b)")),
    "CloudRefused",
  ],
];

for (const [refusal, type] of sorts) {
  Deno.test(`openGoogle: fails with ${type} after ${refusal?.status} ${refusal?.codes.join()}`, () => {
    equal((failureOf(refusal!, "do it") as Error & { type?: string }).type, type);
  });
}

Deno.test("K8 openGoogle: treats only conflict alreadyExists as an existing machine", async () => {
  deepEqual([isKnown(answer(409, "alreadyExists")), isKnown(answer(409, "conflict"))], [true, false]);
  await using world = open({ saysNo: { create: "conflict" } });
  await rejects((await world.driver).order({ group: spec.id, token: "t" }), { type: "ApiUnavailable" });
  equal(world.cloud.instances().length, 2);
});

Deno.test("openGoogle: does not treat a missing project as a deleted machine", () => {
  const gone = answer(404, "notFound", "The resource 'projects/p-1/zones/z/instanceGroupManagers/m' was not found");
  deepEqual([isAbsent(gone), isAbsent(answer(404, "notFound", "The resource 'projects/p-1' was not found"))], [
    true,
    false,
  ]);
});

Deno.test("openGoogle: does not treat a 404 of a proxy, which has no reason of Google, as a deleted resource", () => {
  const proxied = refusalOf({ status: 404, message: "not found", response: { data: {} } });
  const { type } = failureOf(proxied, "do it") as Error & { type?: string };
  deepEqual([isAbsent(proxied), isFinal(proxied), type], [false, false, "ApiUnavailable"]);
});

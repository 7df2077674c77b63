import { deepEqual, equal } from "node:assert/strict";
import type { StageOutcome } from "../../../../workflows/contracts/mod.ts";
import { mayPass } from "../../../../workflows/policy/in_place.ts";

function refused(reason: (StageOutcome & { outcome: "Refused" })["reason"]): StageOutcome {
  return { outcome: "Refused", reason, message: "so" };
}

Deno.test("mayPass: allows any number of retries while a registry or a machine does not respond", () => {
  for (const seen of [refused("RegistryUnreachable"), { outcome: "Unknown", message: "silent" } as const]) {
    deepEqual([1, 5, 60].map((asked) => mayPass(seen, asked)), [true, true, true]);
  }
});

Deno.test("mayPass: allows five attempts for a stalled pull and a failed driver", () => {
  for (const reason of ["PullStalled", "DriverFailed"] as const) {
    deepEqual([1, 4, 5].map((asked) => mayPass(refused(reason), asked)), [true, true, false]);
  }
});

Deno.test("mayPass: allows no retry for a lasting refusal, or for any other outcome", () => {
  for (const reason of ["ImageNotFound", "SignatureInvalid", "DiskFull", "BootSpace", "OtherUpdater"] as const) {
    equal(mayPass(refused(reason), 1), false);
  }
  for (const outcome of ["Booted", "Staged", "Failed", "Gone"] as const) equal(mayPass({ outcome }, 1), false);
});

/** After which refusals of an update in place a node may be replaced, and with which policy. */
import { deepEqual, equal } from "node:assert/strict";
import { isOwnRefusal, replacesRefused, withReplaceable } from "../../../../workflows/policy/replaced.ts";
import type { Member, PoolSnapshot } from "../../../../workflows/contracts/mod.ts";

const member: Member = {
  ...{ id: "n1", node: "n1", templateHash: "old", image: "", kubelet: "", phase: "Ready", since: "" },
  ...{ marked: false, held: false, expendable: false, kept: "Failed", replaceable: true },
};
const pool = { old: [member, { ...member, id: "n2", replaceable: undefined }] } as unknown as PoolSnapshot;

Deno.test("isOwnRefusal: returns true only for refusals that a new node would not repeat", () => {
  const own = [
    "DiskFull",
    "BootSpace",
    "OtherUpdater",
    "LayeredPackages",
    "DriverMissing",
    "DriverFailed",
    "PullStalled",
  ];
  const shared = ["ImageNotFound", "SignatureInvalid", "RegistryUnreachable", "EtcChanged", "OfALaterVersion"];
  const judged = [...own, ...shared].map((reason) => isOwnRefusal(reason as never));
  deepEqual(judged, [...own.map(() => true), ...shared.map(() => false)]);
});

Deno.test("withReplaceable: changes no machine unless onImageChange is ReplaceIfRefused", () => {
  for (const onImageChange of [undefined, "Replace", "InPlace"] as const) {
    const rules = onImageChange ? { onImageChange } : {};
    equal(withReplaceable(pool, rules), pool);
    equal(replacesRefused(rules), false);
  }
  const { old } = withReplaceable(pool, { onImageChange: "ReplaceIfRefused" });
  deepEqual(old.map(({ kept, staged }) => [kept, staged]), [[undefined, true], ["Failed", undefined]]);
});

import { deepEqual, equal } from "node:assert/strict";
import {
  type CaBundle,
  caBundlesIn,
  isEffective,
  type MachineTrust,
  poolTrust,
  trustOf,
  withBundle,
} from "../../../../activities/status/ca_record.ts";

const [a, b, c] = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"] as const;
const hour = 3_600_000;

/** A bundle that new machines got from that hour on. */
function at(hours: number, ...cas: string[]): CaBundle {
  return { since: new Date(hours * hour).toISOString(), cas };
}

function trust(bundles: readonly CaBundle[], hours: number, ...present: string[]): MachineTrust {
  return trustOf(bundles, hours * hour, present);
}

const rotation = [at(1, a), at(10, a, b), at(20, b)];

Deno.test("trustOf: a machine created before the new CA was added lacks that CA, and a machine created afterwards trusts it", () => {
  const bundles = rotation.slice(0, 2);
  deepEqual(trust(bundles, 5, a, b), { state: "Lacks", trustsOthers: false });
  deepEqual(trust(bundles, 11, a, b), { state: "Trusts", trustsOthers: false });
});

Deno.test("trustOf: after the old CA was removed from the bundle, a machine with both CAs lacks none, and still trusts the old CA", () => {
  deepEqual(trust(rotation, 11, b), { state: "Trusts", trustsOthers: true });
  deepEqual(trust(rotation, 21, b), { state: "Trusts", trustsOthers: false });
  deepEqual(trust(rotation, 5, b), { state: "Lacks", trustsOthers: true });
});

Deno.test("trustOf: a machine created before the first known bundle is Unknown if all bundles have every CA that machines must trust now, and otherwise Lacks", () => {
  deepEqual(trust([at(10, a, b)], 5, a, b), { state: "Unknown", trustsOthers: false });
  deepEqual(trust(rotation.slice(0, 2), 0, a, b), { state: "Lacks", trustsOthers: false });
  deepEqual(trust([], 5, a), { state: "Unknown", trustsOthers: false });
});

Deno.test("trustOf: assumes the worst of all bundles since the creation of a machine, because it may have booted later", () => {
  const undone = [at(1, a, b), at(10, a), at(20, a, b)];
  deepEqual(trust(undone, 5, a, b), { state: "Lacks", trustsOthers: false });
  deepEqual(trust(undone, 21, a, b), { state: "Trusts", trustsOthers: false });
});

Deno.test("trustOf: counts a bundle only for machines created a minute later, because clocks can differ", () => {
  const bundles = rotation.slice(0, 2);
  deepEqual(trust(bundles, 10 + 59 / 3600, a, b).state, "Lacks");
  deepEqual(trust(bundles, 10 + 60 / 3600, a, b).state, "Trusts");
});

Deno.test("trustOf: a CA that only some files of a machine have counts as missing if machines must trust that CA now, and otherwise as trusted", () => {
  const bundles = [{ ...at(1, b), partly: [a] }];
  deepEqual(trust(bundles, 5, b), { state: "Trusts", trustsOthers: true });
  deepEqual(trust(bundles, 5, a, b), { state: "Lacks", trustsOthers: false });
});

Deno.test("poolTrust: counts how many machines of a pool lack a CA, trust other CAs, or are unknown", () => {
  const created = [5, 6, 11, 0].map((hours) => hours * hour);
  deepEqual(poolTrust(rotation.slice(0, 2), created, [a, b]), {
    ...{ machines: 4, lacking: 3, unknown: 0, trustingOthers: 0 },
  });
  deepEqual(poolTrust(rotation.slice(0, 2), created, [a]), {
    ...{ machines: 4, lacking: 0, unknown: 1, trustingOthers: 4 },
  });
  deepEqual(poolTrust([], created, []), { machines: 4, lacking: 0, unknown: 4, trustingOthers: 0 });
});

Deno.test("withBundle: appends a bundle only if its CAs differ, dates it no earlier than the last bundle, and keeps the last ten bundles", () => {
  const known = [at(10, a)];
  equal(withBundle(known, { cas: [a] }, 11 * hour), undefined);
  deepEqual(withBundle(known, { cas: [a], partly: [c] }, 11 * hour)?.at(-1), { ...at(11, a), partly: [c] });
  deepEqual(withBundle(known, { cas: [b] }, 5 * hour)?.at(-1), at(10, b));
  deepEqual(withBundle([], { cas: [b] }, 5 * hour), [at(5, b)]);
  const many = Array.from({ length: 10 }, (_, nth) => at(nth, nth % 2 === 0 ? a : b));
  deepEqual(withBundle(many, { cas: [c] }, 20 * hour), [...many.slice(1), at(20, c)]);
});

Deno.test("withBundle: the first bundle of a pool counts for all its machines, and a later bundle only for newer machines", () => {
  const [first, ...rest] = withBundle([], { cas: [a], isFirst: true }, hour) ?? [];
  deepEqual([first, rest], [{ cas: [a] }, []]);
  const bundles = caBundlesIn({ caBundles: [first] });
  deepEqual(trust(bundles, 0.1, a), { state: "Trusts", trustsOthers: false });
  equal(withBundle(bundles, { cas: [a] }, 2 * hour), undefined);
  const changed = withBundle(bundles, { cas: [a, b], isFirst: true }, 2 * hour) ?? [];
  deepEqual(changed, [{ cas: [a] }, at(2, a, b)]);
  deepEqual([0.1, 1.5, 3].map((hours) => trust(changed, hours, a, b).state), ["Lacks", "Lacks", "Trusts"]);
});

Deno.test("isEffective: returns true when the last bundle is older than the difference that clocks can have", () => {
  const now = 10 * hour;
  deepEqual(
    [[], [at(10, a)], [at(9.99, a)], [at(9.98, a)], [{ cas: [a] }]].map((bundles) => isEffective(bundles, now)),
    [
      ...[false, false, false, true, true],
    ],
  );
});

Deno.test("caBundlesIn: returns none for a status without bundles, or with an invalid one", () => {
  deepEqual(caBundlesIn({ caBundles: rotation }), rotation);
  for (const status of [undefined, null, {}, { caBundles: null }, { caBundles: [at(1, a), { since: "x", cas: [] }] }]) {
    deepEqual(caBundlesIn(status), []);
  }
  deepEqual(caBundlesIn({ caBundles: [at(1, "not a digest")] }), []);
  deepEqual(caBundlesIn({ caBundles: [at(10, a), at(1, a, b)] }), []);
  deepEqual(caBundlesIn({ caBundles: [at(1, a), { cas: [a, b] }] }), []);
});

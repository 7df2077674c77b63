import { deepEqual, equal, match, ok } from "node:assert/strict";
import {
  byUrgency,
  type CertificateComponent,
  type CertificateRecord,
  recordsIn,
  soonOf,
  standingOf,
  stateOf,
} from "../../../../activities/status/certificate_record.ts";

const dayMs = 24 * 3_600_000;
const now = Date.parse("2026-06-01T00:00:00Z");
const at = (days: number): string => new Date(now + days * dayMs).toISOString();

/** A certificate that was read `readDays` ago. */
function record(
  of: string,
  { component = "APIServer", expires, soon = (expires ?? 0) - 100, readDays = 0, unknown }: {
    component?: CertificateComponent;
    expires?: number;
    soon?: number;
    readDays?: number;
    unknown?: string;
  },
): CertificateRecord {
  const times = expires === undefined ? {} : { expiresAt: at(expires), soonAt: at(soon) };
  const place = { component, of, at: `${of}:6443`, readAt: at(-readDays) };
  return { ...place, ...times, ...(unknown === undefined ? {} : { unknown }) };
}

Deno.test("stateOf: returns ExpiresSoon from the given time on, and Expired when the certificate had expired at its last read", () => {
  deepEqual([101, 100, 50].map((expires) => stateOf(record("a", { expires }), now)), [
    ...["Valid", "ExpiresSoon", "ExpiresSoon"],
  ]);
  equal(stateOf(record("a", { expires: -1 }), now), "Expired");
  equal(stateOf(record("a", { expires: 0 }), now), "Expired");
  equal(stateOf(record("a", { unknown: "away" }), now), "Unknown");
});

Deno.test("stateOf: returns ExpiresSoon for a certificate that expired after its last read, because it may have been renewed", () => {
  equal(stateOf(record("a", { expires: -1, readDays: 2 }), now), "ExpiresSoon");
});

const notices: [component: CertificateComponent, years: number, days: number][] = [
  ...[["APIServer", 1, 365 / 3], ["Authority", 10, 365], ["Etcd", 3, 365 / 3], ["Kubelet", 1, 36.5]] as const,
].map(([...row]) => row);

Deno.test("soonOf: limits the warning time of a kubeadm certificate that has the start date of its two-year-old CA", () => {
  for (const component of ["APIServer", "Etcd"] as const) {
    equal(soonOf(component, { from: now - 730 * dayMs, until: now + 365 * dayMs }) > now + 200 * dayMs, true);
  }
});

for (const [component, years, days] of notices) {
  Deno.test(`soonOf: returns ${Math.round(days)} days before the expiry for a certificate of ${component} that is valid for ${years} years`, () => {
    const until = now + years * 365 * dayMs;
    equal(Math.round((until - soonOf(component, { from: now, until })) / dayMs), Math.round(days));
  });
}

Deno.test("standingOf: returns the most urgent state of all certificates, and names the first certificates in that state", () => {
  const valid = record("a", { expires: 200 });
  const unknown = record("b", { unknown: "the TLS handshake failed (ECONNREFUSED)", component: "Etcd" });
  const soon = record("c", { expires: 50, component: "Kubelet" });
  const expired = ["d", "e", "f", "g", "h"].map((of, nth) => record(of, { expires: -1 - nth }));
  equal(standingOf([], now), undefined);
  const told = [[valid], [valid, unknown], [valid, unknown, soon], [valid, unknown, soon, ...expired]].map((all) =>
    standingOf(all, now)
  );
  deepEqual(told.map((each) => [each?.status, each?.reason]), [
    ["True", "CertificatesValid"],
    ["Unknown", "CertificateUnknown"],
    ["False", "CertificateExpiresSoon"],
    ["False", "CertificateExpired"],
  ]);
  deepEqual(told.map((each) => each?.message), [
    'Certificates are valid; the first of 1 to expire: API server of node "a" at 2026-12-18T00:00:00.000Z',
    'Cannot determine when certificates expire: etcd of "b": the TLS handshake failed (ECONNREFUSED)',
    'Certificates expire soon: kubelet of node "c" at 2026-07-21T00:00:00.000Z',
    'Certificates have expired: API server of node "h" at 2026-05-27T00:00:00.000Z; API server of node "g" at ' +
    '2026-05-28T00:00:00.000Z; API server of node "f" at 2026-05-29T00:00:00.000Z; API server of node "e" at ' +
    "2026-05-30T00:00:00.000Z and 1 more",
  ]);
});

Deno.test("byUrgency: sorts by state, then by expiry, then by name", () => {
  const all = [record("z", { expires: 300 }), record("y", { expires: 200 }), record("b", { unknown: "x" })];
  const sorted = byUrgency([
    ...all,
    record("a", { unknown: "x" }),
    record("c", { expires: 9 }),
    record("d", { expires: -2 }),
  ], now);
  deepEqual(sorted.map(({ of }) => of), ["d", "c", "a", "b", "y", "z"]);
});

Deno.test("standingOf: returns for 300 certificates a message below 2,500 characters that names four of them and counts the others", () => {
  const long = "n".repeat(253);
  const all = Array.from(
    { length: 300 },
    (_, nth) => record(`${nth}${long}`.slice(0, 253), { unknown: "u".repeat(200) }),
  );
  const { message = "" } = standingOf(all, now) ?? {};
  ok(message.length < 2_500, String(message.length));
  match(message, / and 296 more$/);
});

Deno.test("recordsIn: ignores every malformed entry in the certificates of a status", () => {
  const good = record("a", { expires: 9 });
  const bad = [null, 7, "x", {}, { ...good, readAt: "soon" }, { ...good, of: "x".repeat(300) }, {
    ...good,
    component: "Any",
  }];
  deepEqual(recordsIn({ certificates: [...bad, good] }), [good]);
  for (const certificates of [undefined, null, "x", 7, {}]) deepEqual(recordsIn({ certificates }), []);
  deepEqual(recordsIn(undefined), []);
});

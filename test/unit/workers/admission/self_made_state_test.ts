import { deepEqual, equal, ok } from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import {
  type Circumstances,
  dueStepOf,
  isSound,
  lifetimes,
  type SelfMade,
  stepped,
} from "../../../../workers/admission/certificate/self_made_state.ts";

const dayMs = 24 * 3_600_000;
const start = Date.parse("2026-01-01T00:00:00Z");
const hosts = ["ostler-webhook.ostler-system.svc", "127.0.0.1"];
const overlapMs = 600_000;

/**
 * Simulates a webhook that checks the state twice a day from time `from` to time `until`; returns the last state, and
 * each step with its day.
 */
async function lived(
  state: SelfMade | undefined,
  from: number,
  until: number,
): Promise<{ state: SelfMade; done: string[] }> {
  const done: string[] = [];
  const since = new Map<string, number>();
  for (let now = from; now <= until; now += 12 * 3_600_000) {
    const lasting = (pem = ""): number => now - (since.get(pem) ?? now);
    const [trustedMs, shownMs] = [lasting(state?.authorities[0]), lasting(state?.serving.cert)];
    const step = dueStepOf(state, { now, hosts, overlapMs, trustedMs, shownMs });
    if (step) {
      const before = state;
      state = await stepped(state, step, { now, hosts });
      done.push(`day ${Math.round((now - start) / dayMs)}: ${step}`);
      ok(isSound(state));
      // A client that read the authorities before this step must trust the certificate that is served after the step,
      // and a client that reads them after the step must trust the certificate that was served before.
      for (const [shown, trusting] of before && step !== "begin" ? [[state, before], [before, state]] as const : []) {
        const certificate = new X509Certificate(shown.serving.cert);
        ok(trusting.authorities.some((pem) => certificate.verify(new X509Certificate(pem).publicKey)), done.at(-1));
      }
    }
    for (const pem of [state?.authorities[0], state?.serving.cert]) if (pem && !since.has(pem)) since.set(pem, now);
  }
  ok(state);
  return { state, done };
}

function at(now: number, more: Partial<Circumstances> = {}): Circumstances {
  return { now, hosts, overlapMs, trustedMs: 0, shownMs: 0, ...more };
}

Deno.test("self-made certificate: during 380 days, renews authority and certificate in time, and clients trust each served certificate", async () => {
  const { state, done } = await lived(undefined, start, start + 380 * dayMs);
  deepEqual(done, [
    ...["day 0: begin", "day 61: serveAnew", "day 121: serveAnew", "day 182: serveAnew", "day 242: serveAnew"],
    ...["day 246: addAuthority", "day 246: serveAnew", "day 247: dropAuthorities"],
    ...["day 307: serveAnew", "day 367: serveAnew"],
  ]);
  const serving = new X509Certificate(state.serving.cert);
  deepEqual(hosts.map((host, nth) => nth === 0 ? serving.checkHost(host) : serving.checkIP(host)), hosts);
});

Deno.test("self-made certificate: is valid from a time in the past, for an API server whose clock is behind", async () => {
  const { authorities: [authority = ""], serving } = await stepped(undefined, "begin", { now: start, hosts });
  for (const pem of [authority, serving.cert]) {
    equal(Date.parse(new X509Certificate(pem).validFrom), start - lifetimes.skew);
  }
});

Deno.test("self-made certificate: serves no certificate of a new authority before clients have trusted it for the overlap", async () => {
  const state = await stepped(await stepped(undefined, "begin", at(start)), "addAuthority", at(start));
  equal(dueStepOf(state, at(start + dayMs, { trustedMs: overlapMs - 1 })), undefined);
  equal(dueStepOf(state, at(start, { trustedMs: overlapMs })), "serveAnew");
  const served = await stepped(state, "serveAnew", at(start));
  equal(dueStepOf(served, at(start, { shownMs: overlapMs - 1 })), undefined);
  equal(dueStepOf(served, at(start, { shownMs: overlapMs })), "dropAuthorities");
});

Deno.test("self-made certificate: replaces a certificate immediately when it has expired, or was issued for hosts other than the webhook's", async () => {
  const begun = await stepped(undefined, "begin", at(start));
  equal(dueStepOf(begun, at(start, { hosts: ["elsewhere.svc"] })), "serveAnew");
  const late = start + 91 * dayMs;
  equal(dueStepOf(begun, at(late)), "serveAnew");
  const asleep = start + 400 * dayMs;
  const { state } = await lived(begun, asleep, asleep + 2 * dayMs);
  equal(state.authorities.length, 1);
  ok(Date.parse(new X509Certificate(state.serving.cert).validTo) > asleep);
});

Deno.test("self-made certificate: does not use keys and certificates that do not match", async () => {
  const [one, two] = await Promise.all([1, 2].map(() => stepped(undefined, "begin", at(start))));
  ok(one && two && isSound(one));
  for (
    const odd of [
      ...[{ authorityKey: two.authorityKey }, { serving: two.serving }, { authorities: [] }, { authorities: ["?"] }],
      ...[{ serving: { cert: one.serving.cert, key: two.serving.key } }, { authorities: two.authorities }],
    ]
  ) equal(isSound({ ...one, ...odd }), false, Object.keys(odd).join());
});

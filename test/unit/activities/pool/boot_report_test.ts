import { equal, match } from "node:assert/strict";
import { lastBootReport } from "../../../../activities/pool/boot_report.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { pool } from "../../../support/machine_objects.ts";

const namespace = "cloud-init-settings";
const name = "ostler-boot-pool-fleet";
const failed = {
  ...{ phase: "setup", step: "install packages", state: "Failed", message: "apt-get gave 100" },
  at: "2026-11-21T09:00:00Z",
};

function reportingKube(data: Record<string, string>): FakeKube {
  const kube = new FakeKube();
  kube.put("configmaps", { metadata: { namespace, name }, data });
  return kube;
}

function said(report: unknown): Promise<string | undefined> {
  const line = typeof report === "string" ? report : JSON.stringify(report);
  return lastBootReport(reportingKube({ a: line }).client, pool, ["a"]);
}

Deno.test("lastBootReport: returns the last report of a machine as text, with phase, step and time", async () => {
  equal(
    await said(failed),
    `setup step "install packages" failed at 2026-11-21T09:00:00Z: apt-get gave 100`,
  );
  equal(await said({ phase: "bootstrap", step: "fetch", state: "Running" }), 'bootstrap step "fetch" running');
  equal(await lastBootReport(reportingKube({ a: "{}" }).client, pool, ["b"]), undefined);
  equal(await lastBootReport(new FakeKube().client, pool, ["a"]), undefined);
});

Deno.test("lastBootReport: finds the report of a machine under the host name that the cloud gave the machine", async () => {
  const kube = reportingKube({ "ip-10-0-0-1.example": JSON.stringify(failed) });
  match(await lastBootReport(kube.client, pool, ["a", "ip-10-0-0-1.example"]) ?? "", /apt-get gave 100/);
});

for (
  const [what, report] of Object.entries<unknown>({
    "is not JSON": "phase=setup",
    "is not a JSON object": ["setup"],
    "names an unknown phase": { ...failed, phase: "kernel" },
    "has no step": { ...failed, step: undefined },
    "is longer than any machine writes": { ...failed, message: "x".repeat(10_000) },
  })
) {
  Deno.test(`lastBootReport: returns nothing for a report that ${what}`, async () => {
    equal(await said(report), undefined);
  });
}

Deno.test("lastBootReport: shortens long text, and leaves out an invalid time", async () => {
  const text = await said({ ...failed, step: "s".repeat(500), message: "m".repeat(500), at: "<now>" }) ?? "";
  match(text, /^setup step "s{60}" failed: m{300}$/);
});

Deno.test("lastBootReport: removes control characters and markup, which a web page or a terminal could interpret", async () => {
  const message = "\u001b[31mred\u0000\n[click](http://evil.example) <img src=x> ![](y) `code` \u202Eeslaf {{x}}";
  const text = await said({ ...failed, message }) ?? "";
  equal(/[\p{C}<>[\]{}`\\"]/u.test(text.replace('"install packages"', "")), false, text);
  match(text, /red .click..http:\/\/evil\.example/);
});

Deno.test("lastBootReport: removes the login of a URL, whatever characters its password contains", async () => {
  for (const password of ["hunter2", "hun/ter2", "hun@ter2"]) {
    const text = await said({ ...failed, message: `curl: (5) in 'http://user:${password}@proxy.example:3128'` }) ?? "";
    match(text, /http:\/\/\(hidden\)@proxy\.example:3128/);
    equal(text.includes("ter2"), false, text);
  }
});

Deno.test("lastBootReport: removes tokens that a script printed", async () => {
  const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl";
  const message = `Authorization: Bearer opaque-5f3a again ${jwt}, kubelet with abc123.0123456789abcdef`;
  const text = await said({ ...failed, message }) ?? "";
  for (const token of ["opaque-5f3a", "eyJ", "0123456789abcdef"]) equal(text.includes(token), false, text);
  match(text, /Bearer \(hidden\) again \(hidden\), kubelet with \(hidden\)/);
});

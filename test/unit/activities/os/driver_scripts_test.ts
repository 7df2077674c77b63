/** Rare states of a node's OS in the scripts of hands, on a host with strict fakes of bootc and rpm-ostree. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { OsOutcome } from "../../../../workflows/contracts/mod.ts";
import { digestOf, FakeOsHost } from "../../../support/fake_os_host.ts";

const [a, b, c, d] = [digestOf("a"), digestOf("b"), digestOf("c"), digestOf("d")];

function digests(outcome: OsOutcome): string[] {
  if (outcome.outcome !== "Done") throw new Error(`Failed to read the digests: ${JSON.stringify(outcome)}`);
  const { booted, staged, fallback } = outcome.status;
  return [booted, staged, fallback];
}

Deno.test("Check: finds an updater that is active although systemctl calls it disabled, as the timer in images of bootc", async () => {
  await using host = await FakeOsHost.make("bootc");
  await host.put("active", "bootc-fetch-apply-updates.timer\n");
  const outcome = await host.give("Check");
  if (outcome.outcome !== "Done") throw new Error(JSON.stringify(outcome));
  deepEqual(outcome.findings.map(({ kind, stops }) => [kind, stops]), [["OtherUpdater", true]]);
  match(
    outcome.findings[0]?.message ?? "",
    /^bootc-fetch-apply-updates\.timer is active; run systemctl mask --now boot/,
  );
});

Deno.test("Check: finds updaters that run in pods: kured, and the controller of NKD's housekeeper, which uncordons nodes", async () => {
  for (const name of ["kured", "housekeeper-con"]) {
    await using host = await FakeOsHost.make("rpm-ostree");
    await host.put("comms", `systemd\n${name}\n`);
    const outcome = await host.give("Check");
    if (outcome.outcome !== "Done") throw new Error(JSON.stringify(outcome));
    deepEqual(outcome.findings.map(({ kind, stops }) => [name, kind, stops]), [[name, "OtherUpdater", true]]);
  }
});

for (const driver of ["bootc", "rpm-ostree"] as const) {
  Deno.test(`${driver}: stages, boots and rolls back an image by the digest of its index`, async () => {
    await using host = await FakeOsHost.make(driver);
    await host.put("registry", `registry.example/os/worker@${c}\n`);
    await host.put("indexes", `${c} ${d}\n`); // the index c lists the manifest d
    const order = { digest: c };
    deepEqual(digests(await host.give("Stage", order)), [a, c, ""]);
    await host.give("Apply", order);
    await host.elapse();
    deepEqual(digests(await host.give("Status", order)), [c, "", a]);
    deepEqual(digests(await host.give("Status", { digest: d })), [d, "", a]);
    await host.give("GoBack", { digest: a });
    await host.elapse();
    deepEqual(digests(await host.give("Status", order)), [a, "", c]);
  });
}

Deno.test("rpm-ostree: GoBack boots the fallback also if it is ordered twice and another deployment is pinned", async () => {
  await using host = await FakeOsHost.make("rpm-ostree");
  await host.give("Stage");
  await host.give("Apply");
  await host.elapse();
  await host.put("pinned", c);
  const back = { bootId: host.bootId, digest: a };
  deepEqual(digests(await host.give("Check", back)), [b, "", a]);
  await host.give("GoBack", back);
  await host.give("GoBack", back);
  await host.elapse();
  equal(digests(await host.give("Status"))[0], a);
});

Deno.test("rpm-ostree: GoBack drops an image that was staged meanwhile, with which rpm-ostree refuses a rollback", async () => {
  await using host = await FakeOsHost.make("rpm-ostree");
  await host.give("Stage");
  await host.give("Apply");
  await host.elapse();
  await host.put("staged", c);
  equal((await host.give("GoBack", { digest: a })).outcome, "Done");
  await host.elapse();
  equal(digests(await host.give("Status"))[0], a);
});

Deno.test("rpm-ostree: Stage fetches an image also with a version before 2022.16, which requires --experimental for images", async () => {
  await using host = await FakeOsHost.make("rpm-ostree");
  await host.put("is_old", "true");
  deepEqual(digests(await host.give("Stage")), [a, b, ""]);
});

Deno.test("rpm-ostree: Apply boots an image whether finalize-deployment expects its commit or, since 2025.7, the digest of its manifest", async () => {
  for (const expected of ["commit", "digest"]) {
    await using host = await FakeOsHost.make("rpm-ostree");
    await host.put("finalizes_by", expected);
    await host.give("Stage");
    equal((await host.give("Apply")).outcome, "Done");
    await host.elapse();
    equal(digests(await host.give("Status"))[0], b);
  }
});

Deno.test("bootc: a hand whose image sets the variable container, as Fedora's does, runs the host's bootc without it", async () => {
  await using host = await FakeOsHost.make("bootc");
  host.variables = { container: "oci" };
  deepEqual(digests(await host.give("Status")), [a, "", ""]);
});

Deno.test("bootc: an image that is staged after a queued rollback boots, and GoBack boots the fallback all the same", async () => {
  for (const verb of ["Apply", "GoBack"] as const) {
    await using host = await FakeOsHost.make("bootc");
    await host.put("registry", `registry.example/os/worker@${c}\n`);
    await host.put("rollback", b);
    await host.put("queued", "true"); // a pod was stopped before it could order the boot
    deepEqual(digests(await host.give("Stage", { digest: c })), [a, c, b]);
    equal((await host.give(verb, { digest: verb === "Apply" ? c : b })).outcome, "Done");
    await host.elapse();
    equal(digests(await host.give("Status"))[0], verb === "Apply" ? c : b);
  }
});

Deno.test("bootc: Stage of the booted image reverts a queued rollback, which would boot the node with another image", async () => {
  await using host = await FakeOsHost.make("bootc");
  await host.put("rollback", b);
  await host.put("queued", "true");
  deepEqual(digests(await host.give("Stage", { digest: a })), [a, "", b]);
});

Deno.test("bootc: Apply boots an image that was staged or locked by bootc upgrade --download-only, which no boot activates", async () => {
  await using host = await FakeOsHost.make("bootc");
  await host.give("Stage");
  await host.put("locked", "true");
  deepEqual(digests(await host.give("Stage")), [a, b, ""]);
  equal((await host.give("Apply")).outcome, "Done");
  await host.elapse();
  equal(digests(await host.give("Status"))[0], b);
});

/** The scripts of hands (pods that execute orders on nodes), on a host with strict fakes of bootc and rpm-ostree. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { OsOutcome } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { digestOf, FakeOsHost } from "../support/fake_os_host.ts";

const [a, b, c] = [digestOf("a"), digestOf("b"), digestOf("c")];

function digests(outcome: OsOutcome): string[] {
  if (outcome.outcome !== "Done") throw new Error(`Failed to read the digests: ${JSON.stringify(outcome)}`);
  const { booted, staged, fallback } = outcome.status;
  return [booted, staged, fallback];
}

function refusal(outcome: OsOutcome): [string, string] {
  if (outcome.outcome !== "Refused") throw new Error(`Failed to read the reason: ${JSON.stringify(outcome)}`);
  return [outcome.reason, outcome.message];
}

for (const driver of ["bootc", "rpm-ostree"] as const) {
  Deno.test(`${driver}: stages, boots and rolls back an image, each once however often it is ordered`, async () => {
    await using host = await FakeOsHost.make(driver);
    deepEqual(digests(await host.give("Status")), [a, "", ""]);
    deepEqual(digests(await host.give("Stage")), [a, b, ""]);
    deepEqual(digests(await host.give("Stage")), [a, b, ""]);
    equal((await host.get("calls")).split("\n").filter((call) => / (switch|rebase) /.test(call)).length, 1);
    const apply = { bootId: host.bootId };
    deepEqual(digests(await host.give("Apply", apply)), [a, b, ""]);
    deepEqual(digests(await host.give("Apply", apply)), [a, b, ""]);
    equal((await host.ordered()).length, 1);
    await host.elapse();
    deepEqual(digests(await host.give("Apply", apply)), [b, "", a]);
    deepEqual(await host.ordered(), []);
    const back = { bootId: host.bootId };
    await host.give("GoBack", back);
    await host.give("GoBack", back);
    await host.elapse();
    deepEqual(digests(await host.give("GoBack", back)), [a, "", b]);
    deepEqual(await host.ordered(), []);
  });

  Deno.test(`${driver}: treats a new digest of the same image name as a new image, and boots a previous digest again (A2, A5)`, async () => {
    await using host = await FakeOsHost.make(driver);
    for (const digest of [b, a, b]) {
      await host.give("Stage", { digest, token: `to-${digest.slice(-1)}` });
      await host.give("Apply", { digest });
      await host.elapse();
      equal(digests(await host.give("Status"))[0], digest);
    }
  });

  Deno.test(`${driver}: a failed Stage leaves no image staged, and the next Stage retries it (A3)`, async () => {
    await using host = await FakeOsHost.make(driver);
    await host.put("fails_once", "error: pinging container registry registry.example: dial tcp: connection refused");
    equal(refusal(await host.give("Stage"))[0], "RegistryUnreachable");
    deepEqual(digests(await host.give("Status")), [a, "", ""]);
    deepEqual(refusal(await host.give("Apply")), ["NotStaged", `the staged image is '', not '${b}'`]);
    deepEqual(digests(await host.give("Stage")), [a, b, ""]);
  });

  Deno.test(`${driver}: distinguishes a full disk, a missing image and an invalid signature`, async () => {
    await using host = await FakeOsHost.make(driver);
    const said: [string, string][] = [
      ["DiskFull", "error: Importing: Writing content object: fsync: No space left on device"],
      ["SignatureInvalid", "error: Source image rejected: A signature was required, but no signature exists"],
      ["DriverFailed", "error: an unknown failure"],
    ];
    for (const [reason, words] of said) {
      await host.put("fails_once", words);
      const [found, message] = refusal(await host.give("Stage"));
      equal(found, reason);
      match(message, new RegExp(words.slice(7, 30)));
    }
    equal(refusal(await host.give("Stage", { digest: c }))[0], "ImageNotFound");
    deepEqual(digests(await host.give("Status")), [a, "", ""]);
  });

  for (const systemd of [true, false]) {
    Deno.test(`${driver}: ends and reports a stalled download that runs ${systemd ? "as a systemd unit" : "without systemd"}`, async () => {
      await using host = await FakeOsHost.make(driver);
      if (!systemd) await Deno.remove(host.at("systemd"));
      await host.put("stalls", "");
      const [reason, message] = refusal(await host.give("Stage", {}, 2));
      equal(reason, "PullStalled");
      match(message, /no data arrived for 2 s; last output: layers already present: 12/);
      await Deno.remove(host.at("stalls"));
      deepEqual(digests(await host.give("Stage")), [a, b, ""]);
    });
  }

  Deno.test(`${driver}: a download outlives the pod that began it, and the next pod finds it`, async () => {
    await using host = await FakeOsHost.make(driver);
    await host.put("stalls", "");
    const killed = new AbortController();
    const order = host.order("Stage");
    const first = host.run(order, 30, killed.signal);
    for (let tries = 0; !(await host.get("calls")).includes("SubState") && tries < 200; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    killed.abort();
    equal(await first, "");
    const [reason] = refusal(await host.give("Stage", order, 2));
    equal(reason, "PullStalled");
    equal((await host.get("calls")).split("\n").filter((call) => call.startsWith("systemd-run ")).length, 1);
  });

  Deno.test(`${driver}: the next order ends an abandoned download of an earlier order`, async () => {
    await using host = await FakeOsHost.make(driver);
    await host.put("registry", `registry.example/os/worker@${b}\nregistry.example/os/worker@${c}\n`);
    await host.put("takes_long", "");
    const left = new AbortController();
    const first = host.run(host.order("Stage", { digest: c }), 30, left.signal);
    await eventually("a fetch", async () => (await host.get("calls")).includes("systemd-run "));
    left.abort();
    await first;
    deepEqual(digests(await host.give("Stage", { token: "t-2" })), [a, b, ""]);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    deepEqual(digests(await host.give("Status")), [a, b, ""]);
  });

  Deno.test(`${driver}: an order with an outdated boot ID, or past its deadline, does not reboot the node`, async () => {
    await using host = await FakeOsHost.make(driver);
    await host.give("Stage");
    const late = { until: Date.now() - 5_000 };
    equal(refusal(await host.give("Apply", late))[0], "DriverFailed");
    deepEqual(digests(await host.give("Apply", { bootId: "11111111-1111-4111-8111-111111111111" })), [a, b, ""]);
    deepEqual(refusal(await host.give("Apply", { digest: c }))[0], "NotStaged");
    deepEqual(refusal(await host.give("GoBack"))[0], "NothingToGoBackTo");
    deepEqual([await host.ordered(), await host.get("reboots")], [[], ""]);
  });

  Deno.test(`${driver}: a check finds other updaters, a full /boot, changed files in /etc, and layered packages`, async () => {
    await using host = await FakeOsHost.make(driver);
    const found = async (): Promise<[string, boolean][]> => {
      const outcome = await host.give("Check");
      return outcome.outcome === "Done" ? outcome.findings.map(({ kind, stops }) => [kind, stops]) : [];
    };
    deepEqual(await found(), []);
    await host.put("df_boot", "F\n/dev/vda3 500000 450000 50000 90% /boot\n");
    await host.put("etc", "M    hosts\nA    kubernetes/kubelet.conf\n");
    await host.put("enabled", "zincati.service\nrpm-ostreed-automatic.timer\n");
    await host.put("layered", "true");
    deepEqual(
      await found(),
      [
        ...[["OtherUpdater", true], ["OtherUpdater", true], ["BootSpace", true], ["EtcChanged", false]] as const,
        ...(driver === "bootc" ? [["LayeredPackages", true] as const] : []),
      ].map(([kind, stops]) => [kind, stops]),
    );
  });

  Deno.test(`${driver}: drops a staged image when the booted image is desired again`, async () => {
    await using host = await FakeOsHost.make(driver);
    await host.give("Stage");
    await host.give("Stage", { digest: a });
    await host.boot();
    equal(digests(await host.give("Status"))[0], a);
  });

  Deno.test(`${driver}: on a host without systemd, Apply reboots the host directly`, async () => {
    await using host = await FakeOsHost.make(driver);
    await Deno.remove(host.at("systemd"));
    await host.give("Stage");
    equal((await host.give("Apply")).outcome, "Done");
    equal(await host.get("reboots"), "reboot\n");
  });
}

Deno.test("check: finds kured by its process, because it is not a unit of the host", async () => {
  await using host = await FakeOsHost.make("rpm-ostree");
  await Deno.remove(host.at("comms")); // so that Check reads the processes of this machine
  await Deno.copyFile("/bin/sleep", host.at("kured"));
  const kured = new Deno.Command(host.at("kured"), { args: ["60"] }).spawn();
  try {
    const outcome = await host.give("Check");
    deepEqual(outcome.outcome === "Done" && outcome.findings.map(({ kind, stops }) => [kind, stops]), [[
      "OtherUpdater",
      true,
    ]]);
  } finally {
    kured.kill();
    await kured.status;
  }
});

Deno.test("Stage: one failed call of systemd does not end the download", async () => {
  await using host = await FakeOsHost.make("bootc");
  await host.put("takes_long", "");
  await host.put("systemd_fails_once", "");
  deepEqual(digests(await host.give("Stage")), [a, b, ""]);
  equal(await host.get("systemd_fails_once"), "done");
});

Deno.test("rpm-ostree: a boot that Ostler did not order does not activate the staged image", async () => {
  await using host = await FakeOsHost.make("rpm-ostree");
  await host.give("Stage");
  await host.boot();
  deepEqual(digests(await host.give("Status")), [a, "", ""]);
});

Deno.test("driver: reports a missing tool, or a system that the tool did not boot", async () => {
  await using host = await FakeOsHost.make("ostree");
  equal(refusal(await host.give("Status"))[0], "DriverMissing");
});

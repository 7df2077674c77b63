/** The scripts of hands (Ostler's pods on nodes) on a host that the real ostree deploys; only systemd is a fake. */
import { deepEqual, equal, match } from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import type { OsOrder, OsOutcome } from "../../workflows/contracts/mod.ts";
import { digestOf } from "../support/fake_os_host.ts";
import { OstreeHost, ostreeMissing } from "../support/ostree_host.ts";

const missing = ostreeMissing();

function story(name: string, tell: (on: OstreeHost) => Promise<void>): void {
  Deno.test({
    name: missing ? `${name}: skipped, ${missing}` : name,
    ignore: missing !== "",
    fn: async () => {
      await using on = await OstreeHost.make();
      await tell(on);
    },
  });
}

function give({ host, commits }: OstreeHost, verb: OsOrder["verb"], more: Partial<OsOrder> = {}): Promise<OsOutcome> {
  return host.give(verb, { image: "site", digest: commits[1] ?? "", ...more }, 2);
}

/** The booted, staged and rollback deployments, as indices of commits; -1 for none. */
function places({ commits }: OstreeHost, outcome: OsOutcome): number[] {
  if (outcome.outcome !== "Done") throw new Error(`Failed to read commits: ${JSON.stringify(outcome)}`);
  const { booted, staged, fallback } = outcome.status;
  return [booted, staged, fallback].map((digest) => commits.indexOf(digest));
}

function reasonOf(outcome: OsOutcome): string {
  return outcome.outcome === "Refused" ? outcome.reason : JSON.stringify(outcome);
}

story("ostree: a commit is fetched, booted, rolled back and booted again", async (on) => {
  deepEqual(places(on, await give(on, "Status")), [0, -1, -1]);
  deepEqual(places(on, await give(on, "Stage")), [0, 1, -1]);
  const apply = { bootId: on.host.bootId };
  deepEqual(places(on, await give(on, "Apply", apply)), [0, 1, -1]);
  await on.boot();
  deepEqual(places(on, await give(on, "Apply", apply)), [1, -1, 0]);
  deepEqual(await on.host.ordered(), []);
  const back = { digest: on.commits[0] ?? "", bootId: on.host.bootId };
  for (const nth of ["first", "repeated"]) equal((await give(on, "GoBack", back)).outcome, "Done", nth);
  deepEqual(await on.host.ordered(), ["systemctl reboot"]);
  await on.boot();
  deepEqual(places(on, await give(on, "Status")), [0, -1, 1]);
  await give(on, "Stage", { token: "t-2" });
  await give(on, "Apply", { token: "t-2" });
  await on.boot();
  deepEqual(places(on, await give(on, "Status")), [1, -1, 0]);
});

story("ostree: only the ordered boot activates a staged commit, and no boot activates an unstaged one", async (on) => {
  equal(reasonOf(await give(on, "Apply")), "NotStaged");
  equal(reasonOf(await give(on, "GoBack")), "NothingToGoBackTo");
  await give(on, "Stage");
  await on.host.boot();
  deepEqual(places(on, await give(on, "Status")), [0, 1, -1]);
  deepEqual(places(on, await give(on, "Stage", { digest: on.commits[0] ?? "" })), [0, -1, -1]);
});

story("ostree: a deployment that did not boot is replaced by the desired one", async (on) => {
  await give(on, "Stage");
  await give(on, "Apply", { bootId: on.host.bootId });
  await on.host.boot();
  deepEqual(places(on, await give(on, "Status")), [0, 1, -1]);
  deepEqual(places(on, await give(on, "Stage", { digest: on.commits[0] ?? "" })), [0, -1, -1]);
  deepEqual(places(on, await give(on, "Stage", { token: "t-2" })), [0, 1, -1]);
});

story("ostree: a missing commit, a missing remote and a server that is down are distinguished", async (on) => {
  equal(reasonOf(await give(on, "Stage", { digest: digestOf("c") })), "ImageNotFound");
  equal(reasonOf(await give(on, "Stage", { image: "nowhere" })), "ImageNotFound");
  on.close();
  equal(reasonOf(await give(on, "Stage")), "RegistryUnreachable");
  deepEqual(places(on, await give(on, "Status")), [0, -1, -1]);
});

story("ostree: a pull from a silent server is reported as stalled, and a later pull succeeds", async (on) => {
  on.isSilent = true;
  equal(reasonOf(await give(on, "Stage")), "PullStalled");
  on.isSilent = false;
  deepEqual(places(on, await give(on, "Stage")), [0, 1, -1]);
});

story("ostree: a check counts the changes of /etc that a rollback would lose", async (on) => {
  const running = (await on.host.get("running")).trim();
  await writeFile(on.host.at(`sysroot/ostree/deploy/debian/deploy/${running}/etc/release`), "mine");
  const outcome = await give(on, "Check");
  const [found] = outcome.outcome === "Done" ? outcome.findings : [];
  deepEqual([found?.kind, found?.stops], ["EtcChanged", false]);
  match(found?.message ?? "", /^1 files of \/etc differ from the image's, such as release: /);
});

/** Machines that cannot become nodes because of a package, a full disk, a kubelet setting, or their mirror. */
import assert from "node:assert/strict";
import { FaultView } from "./fault_view.ts";
import { order } from "./faulty_pools.ts";
import type { Scene } from "./scene.ts";

const downSeconds = 60;
const installing = /containerd v\S+ and kubelet v1\.36\.1/;

/**
 * By fault: matches the last boot report of a machine with that fault. `ostler explain` and the status of the pool's
 * Rollout repeat the cause in that report.
 */
export const lastWords = {
  noPackage: /Cannot install packages: apt-get install: E: Unable to locate package no-such-package/,
  fullDisk: /Cannot install binaries: containerd-\S+ does not unpack to \/opt: tar: \S+: .*No space left on device/,
  badKubelet: /Cannot set up this node: kubelet\.service ends again and again: .*unsupported eviction signal moonlight/,
};

const steps = { noPackage: /^packages$/, fullDisk: installing, badKubelet: /^kubelet$/ };

/**
 * Waits until the machine's boot report names the cause after a second or later attempt, and `ostler explain` repeats
 * the cause.
 */
export async function saysWhy(view: FaultView, fault: keyof typeof lastWords): Promise<void> {
  const why = lastWords[fault].source;
  await view.untilReport(new RegExp(why));
  await view.untilExplained(new RegExp(`Its last boot report: setup step .*${why}`));
  const { phase, state, step } = await view.untilReport(new RegExp(`^${why}.* try ([2-9]|[12]\\d) of 30\\)$`));
  assert.deepEqual([phase, state], ["setup", "Failed"]);
  assert.match(step, steps[fault]);
}

/**
 * Expects a kubelet that crashes repeatedly to leave the machine unfinished, with the token that the next boot report
 * needs.
 */
export async function staysUnfinished(view: FaultView): Promise<void> {
  await saysWhy(view, "badKubelet");
  const unfinished = ["test", "-s", "/etc/ostler/token", "-a", "!", "-e", "/etc/ostler/setup-complete"];
  assert.equal((await view.machine.run(unfinished)).exitCode, 0);
}

/**
 * Waits until a machine that has sent a boot report is given up; the verdict and `ostler explain` must repeat the
 * report.
 */
export async function isGivenUp(view: FaultView, fault: keyof typeof lastWords): Promise<void> {
  const why = lastWords[fault].source;
  const told = new RegExp(`last boot report of the machine: setup step .*${why}`);
  // On a busy computer the machine may have had no time to report anything before its first deadline.
  if (!told.test(await view.verdict("registered"))) await view.isTriedAgain();
  assert.match(await view.verdict("registered"), told);
  const quarantined = 'Its change, revision 1, is quarantined \\(JoinAttemptsExhausted: .*"registered"';
  await view.untilExplained(new RegExp(`and no node yet\\. ${quarantined}.*Its last boot report: .*${why}`));
}

/**
 * Serves a kubelet whose bytes do not match its digest, and expects nothing of it to be installed until the bytes
 * match.
 */
export async function getsWrongFile(scene: Scene): Promise<void> {
  const { mirror } = scene.host;
  await mirror.fault({ kind: "wrong-bytes", file: "kubelet" });
  await order(scene, { name: "wrong-file", isStrict: false });
  const view = await FaultView.of({ ...scene, pool: "wrong-file" });
  const why = /Cannot install binaries: http\S+\/kubelet does not have the given digest/;
  await view.untilReport(why);
  assert.match(await view.explained(), why);
  const { stdout } = await view.machine.run(["find", "/opt", "-name", "kubelet*"]);
  assert.equal(stdout, "", "Expected no part of it to be installed");
  await mirror.fault(undefined);
  await view.joins();
}

/** Expects a machine to join although the mirror is down for a minute, and for at least three attempts. */
export async function lacksMirror(scene: Scene): Promise<void> {
  const { mirror } = scene.host;
  await mirror.fault({ kind: "down" });
  const minute = new Promise((resolve) => setTimeout(resolve, downSeconds * 1000));
  await order(scene, { name: "no-mirror", isStrict: false });
  const view = await FaultView.of({ ...scene, pool: "no-mirror" });
  const why =
    /Cannot install binaries: http\S+\/containerd-static-\S+ does not download: curl: \(7\) Failed to connect to /;
  await view.untilReport(why);
  assert.match(await view.explained(), why);
  await Promise.all([minute, view.untilReport(new RegExp(`${why.source}.* try 3 of 30`))]);
  await mirror.fault(undefined);
  await view.joins();
  const [first = 0, second = 0, third = 0, fourth = 0] = await view.tries("setup");
  assert.ok(fourth - third > second - first, `Pauses do not grow: ${[first, second, third, fourth].join(", ")}`);
}

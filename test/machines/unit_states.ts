/** The machine's state in systemd. */
import assert from "node:assert/strict";
import { type Booted, extraPackage, sshKey } from "./boot_pools.ts";
import { isThere, output, unitProperties } from "./machine_facts.ts";

const seen = ["ActiveState", "UnitFileState", "Result", "NRestarts"] as const;
const running = { ActiveState: "active", UnitFileState: "enabled", Result: "success", NRestarts: "0" };
const done = { ...running, ActiveState: "inactive" };

/** Waits for the end of both phases, a little after the node is Ready. */
export async function untilBooted({ world, name, machine }: Booted): Promise<void> {
  await world.until(`machine "${name}" is set up`, async () => {
    const isDone = await isThere(machine, "/etc/ostler/setup-complete");
    return isDone && (await unitProperties(machine, "setup.service")).ActiveState === "inactive";
  }, 300);
}

/** Expects that started services run, one-time services have succeeded, and no unit has failed or waits. */
export async function checkUnits({ world, name, machine }: Booted): Promise<void> {
  const expected = { "containerd.service": running, "kubelet.service": running };
  const phases = { "bootstrap.service": done, "setup.service": done };
  for (const [unit, state] of Object.entries({ ...expected, ...phases })) {
    const properties = await unitProperties(machine, unit);
    assert.deepEqual(Object.fromEntries(seen.map((name) => [name, properties[name]])), state, unit);
    assert.equal(properties.ExecMainStatus, "0", unit);
  }
  assert.match(await output(machine, ["cloud-init", "status", "--wait"]), /status: done/);
  assert.equal(await output(machine, ["systemctl", "--failed", "--plain", "--no-legend"]), "");
  assert.equal((await output(machine, ["systemctl", "is-system-running"])).trim(), "running");
  // Jobs may run for a moment, because pods change and timers start jobs of the system, which end by themselves.
  await world.until(`no job of systemd on "${name}"`, async () => {
    assert.deepEqual(await unfinishedJobs(machine), []);
    return true;
  }, 60);
}

/**
 * Returns the pending jobs of systemd, without those of the guest agent, which waits for a hypervisor's channel that a
 * container lacks.
 */
async function unfinishedJobs(machine: Booted["machine"]): Promise<string[]> {
  const jobs = (await output(machine, ["systemctl", "list-jobs", "--plain", "--no-legend"])).trim().split("\n");
  return jobs.filter((job) => job !== "" && !/No jobs running|qemu.guest.agent/.test(job));
}

/** Expects that a package that the profile adds was installed from the mirror that the pool names. */
export async function checkPackage({ host, machine }: Booted): Promise<void> {
  const query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", extraPackage];
  assert.equal(await output(machine, query), "installed");
  assert.match(await output(machine, [extraPackage, "--version"]), /^tree v/);
  const requests = host.mirror.requests().filter((line) => line.startsWith("GET /packages/debian/"));
  const archive = new RegExp(`/pool/main/t/${extraPackage}/${extraPackage}_[^/]+\\.deb 200$`);
  assert.equal(requests.filter((line) => archive.test(line)).length, 1, requests.join("\n"));
  const sources = await output(machine, [
    "sh",
    "-c",
    "cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources || true",
  ]);
  assert.deepEqual([...new Set(sources.match(/https?:\/\/\S+?(?=\/debian)/g))], [host.mirror.packagesUrl]);
}

/** Expects the pool's SSH key in the file of authorized keys of the image's own user. */
export async function checkSshKey({ machine }: Booted): Promise<void> {
  const path = "/home/debian/.ssh/authorized_keys";
  assert.equal((await output(machine, ["cat", path])).trim(), sshKey);
  assert.equal((await output(machine, ["stat", "--format", "%a %U", path])).trim(), "600 debian");
}

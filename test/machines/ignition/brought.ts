/** Whether a machine is as its Ignition config describes. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { MachineContainer } from "../../../deploy/local/machines/machine_container.ts";
import type { Spec3 } from "./as_spec_3.ts";

type Unit = NonNullable<Spec3["systemd"]>["units"][number];

/** A shell script that prints the output of `stat` and `sha256sum` for each of its arguments. */
const look = 'for path; do stat --printf "%n %a %U:%G %F " "$path" && sha256sum <"$path"; done';

/**
 * Fails unless every file of the config exists with its mode, owner and content; the paths in `gone` must be missing.
 */
export async function assertFiles(machine: MachineContainer, config: Spec3, gone: string[] = []): Promise<void> {
  const files = config.storage?.files ?? [];
  assert.ok(files.length > 0, "Expected a config with files");
  const kept = files.filter(({ path }) => !gone.includes(path));
  const { stdout, stderr } = await machine.run(["sh", "-c", look, "look", ...kept.map(({ path }) => path)]);
  const wanted = kept.map(({ path, mode, contents: { source } }) => {
    const text = decodeURIComponent(source.slice("data:,".length));
    const kind = text === "" ? "regular empty file" : "regular file";
    return `${path} ${mode.toString(8)} root:root ${kind} ${createHash("sha256").update(text).digest("hex")}  -`;
  });
  assert.deepEqual(stdout.trimEnd().split("\n"), wanted, stderr);
  for (const path of gone) {
    assert.ok(files.some((file) => file.path === path), `${path} was never there`);
    assert.notEqual((await machine.run(["test", "-e", path])).exitCode, 0, `${path} is still there`);
  }
}

/** Fails unless each unit is enabled, disabled or masked, and has its content and drop-ins, as the config defines. */
export async function assertUnits(machine: MachineContainer, { systemd }: Spec3): Promise<void> {
  const units = systemd?.units ?? [];
  assert.ok(units.length > 0, "Expected a config with units");
  for (const unit of units) {
    const { stdout: state } = await machine.run(["systemctl", "is-enabled", unit.name]);
    assert.equal(state.trim(), unit.mask ? "masked" : unit.enabled ? "enabled" : "disabled", unit.name);
    for (const [path, text] of textsOf(unit)) {
      const { stdout } = await machine.run(["cat", path]);
      assert.equal(stdout, text, path);
    }
  }
}

function textsOf({ name, contents, dropins = [], mask }: Unit): [string, string][] {
  const path = `/etc/systemd/system/${name}`;
  return [
    ...(contents === undefined || mask ? [] : [[path, contents] as [string, string]]),
    ...dropins.map((dropin): [string, string] => [`${path}.d/${dropin.name}`, dropin.contents ?? ""]),
  ];
}

/** Fails unless user core has the SSH keys of the config, in a file that no other user can write. */
export async function assertKeys(machine: MachineContainer, { passwd }: Spec3): Promise<void> {
  const keys = passwd?.users.flatMap(({ sshAuthorizedKeys }) => sshAuthorizedKeys) ?? [];
  assert.ok(keys.length > 0, "Expected a config with keys");
  const path = "/home/core/.ssh/authorized_keys.d/ignition";
  const { stdout } = await machine.run(["sh", "-c", 'stat --printf "%a %U\n" "$0" && cat "$0"', path]);
  const [stat, ...lines] = stdout.trimEnd().split("\n");
  assert.equal(stat, "600 core");
  assert.deepEqual(lines.filter((line) => line !== ""), keys);
}

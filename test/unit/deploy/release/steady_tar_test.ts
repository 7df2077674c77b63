import { deepEqual, equal, notDeepEqual } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atOneTime } from "../../../../deploy/release/steady_tar.ts";

/** Returns an archive that tar makes of two files with modification time `changed` (epoch seconds). */
function archived(folder: string, changed: number): Uint8Array {
  mkdirSync(join(folder, "ostler"), { recursive: true });
  for (const [name, text] of [["a", "x".repeat(700)], ["b", ""]] as const) {
    writeFileSync(join(folder, "ostler", name), text);
    utimesSync(join(folder, "ostler", name), changed, changed);
  }
  const archive = join(folder, "made.tgz");
  execFileSync("tar", ["--format=ustar", "-czf", archive, "-C", folder, "ostler/a", "ostler/b"]);
  return readFileSync(archive);
}

Deno.test("atOneTime: makes archives of the same files equal, whatever the modification times, and keeps their content", () => {
  const folder = mkdtempSync(join(tmpdir(), "ostler-tar-"));
  try {
    const [early, late] = [archived(folder, 1_000_000), archived(folder, 2_000_000)];
    notDeepEqual(early, late);
    const steady = atOneTime(early, 1_700_000_000);
    deepEqual(steady, atOneTime(late, 1_700_000_000));
    writeFileSync(join(folder, "steady.tgz"), steady);
    const run = (...args: string[]): string => execFileSync("tar", args, { encoding: "utf8", env: { TZ: "UTC" } });
    equal(run("-xzOf", join(folder, "steady.tgz"), "ostler/a"), "x".repeat(700));
    equal(run("-tvzf", join(folder, "steady.tgz")).match(/2023-11-14 22:13/g)?.length, 2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

import { deepEqual, equal, rejects } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endOfArchive, entryOf, padding, withLawfulTimes } from "../../../../deploy/release/image/tar_entries.ts";

const latest = 1_700_000_000;

/** Returns a tar of a folder with files, long paths and links, whose modification time is `seconds` (epoch). */
async function archiveOf(seconds: number, format: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "tar-"));
  try {
    const deep = join(folder, "a".repeat(120), "b".repeat(90));
    await mkdir(deep, { recursive: true });
    await writeFile(join(deep, "long"), "x".repeat(1500));
    await writeFile(join(folder, "empty"), "");
    await symlink("empty", join(folder, "link"));
    await link(join(deep, "long"), join(folder, "same"));
    const order = [`--format=${format}`, "--sort=name", "--owner=0", "--group=0", `--mtime=@${seconds}.5`];
    return spawnSync("tar", ["--create", ...order, "--directory", folder, "."]).stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Yields the bytes in pieces, which end anywhere in an entry. */
async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

async function steady(bytes: Buffer, size = 700, isOnly = false): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(withLawfulTimes(inPieces(Buffer.from(bytes), size), { latest, isOnly })));
}

function listing(bytes: Buffer): string {
  const { stdout, stderr } = spawnSync("tar", ["--list", "--verbose", "--full-time", "--utc"], { input: bytes });
  return `${stdout}${stderr}`;
}

for (const format of ["gnu", "pax"]) {
  Deno.test(`withLawfulTimes: makes layers equal that differ only in times after the limit, by setting those times to the limit (${format})`, async () => {
    const [one, other] = await Promise.all([archiveOf(latest + 10, format), archiveOf(latest + 9_000, format)]);
    const [steadyOne, steadyOther] = await Promise.all([steady(one), steady(other, 4096)]);
    equal(one.equals(other), false);
    equal(steadyOne.equals(steadyOther), true);
    const lines = listing(steadyOne).trim().split("\n");
    equal(lines.length, 7);
    deepEqual(lines.filter((line) => !line.includes("2023-11-14 22:13:20")), []);
  });
}

Deno.test("withLawfulTimes: makes an older cached layer equal to a new layer when only one time is allowed", async () => {
  const [kept, made] = await Promise.all([archiveOf(latest - 500, "pax"), archiveOf(latest + 500, "pax")]);
  equal((await steady(kept, 700, true)).equals(await steady(made, 700, true)), true);
  equal((await steady(kept)).equals(await steady(made)), false);
});

Deno.test("withLawfulTimes: leaves times before the limit unchanged", async () => {
  const before = await archiveOf(latest - 5, "gnu");
  equal((await steady(before)).equals(before), true);
});

Deno.test("withLawfulTimes: refuses a layer that ends in the middle of an entry", async () => {
  const whole = await archiveOf(latest, "gnu");
  await rejects(
    steady(whole.subarray(0, whole.length - whole.length % 10_240 - 9_000)),
    /ends in the middle of an entry/,
  );
});

Deno.test("entryOf: writes entries that tar reads", () => {
  const text = new TextEncoder().encode("text");
  const bytes = [entryOf("folder/", undefined, latest), entryOf("folder/file", text, latest)];
  const streamed = [entryOf("streamed", { size: 4 }, latest), text, padding(4), endOfArchive];
  deepEqual(listing(Buffer.concat([...bytes, ...streamed])).trim().split("\n").map((line) => line.split(/\s+/)), [
    ["drwxr-xr-x", "0/0", "0", "2023-11-14", "22:13:20", "folder/"],
    ["-rw-r--r--", "0/0", "4", "2023-11-14", "22:13:20", "folder/file"],
    ["-rw-r--r--", "0/0", "4", "2023-11-14", "22:13:20", "streamed"],
  ]);
});

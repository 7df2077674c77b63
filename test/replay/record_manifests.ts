// deno-lint-ignore-file no-console -- this program prints its records
/** Records the manifests of this version, unless they are recorded; the next versions are tested against them. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { installedText, recordsFolder, recordsOf } from "../../deploy/release/recorded.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import manifest from "../../package.json" with { type: "json" };

const { version } = manifest;
const { helm } = await resolveTools(["helm"]);
await mkdir(recordsFolder, { recursive: true });
const text = await installedText(helm);
const records = await recordsOf(version);
const newest = records.at(-1);
if (newest !== undefined && await readFile(join(recordsFolder, newest), "utf8") === text) console.log(`kept ${newest}`);
else {
  const name = `${version}${records.length === 0 ? "" : `-${records.length + 1}`}.yaml`;
  await writeFile(join(recordsFolder, name), text);
  console.log(`recorded ${name}`);
}

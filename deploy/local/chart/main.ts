// Entry point: writes those manifests of deploy/kubernetes anew that are made from the chart.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { resolveTools } from "../tools/resolve_tools.ts";
import { plainFolder, plainManifests } from "./plain_manifests.ts";

const { helm } = await resolveTools(["helm"]);
for (const [file, text] of await plainManifests(helm)) {
  await writeFile(join(plainFolder, file), text);
  process.stdout.write(`deploy/kubernetes/${file}\n`);
}

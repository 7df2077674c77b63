// Entry point: sets the chart's version to that of Ostler, and regenerates the manifests of deploy/kubernetes that are
// rendered from the chart.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { resolveTools } from "../../local/tools/resolve_tools.ts";
import manifest from "../../../package.json" with { type: "json" };
import { chartFolder } from "./render_chart.ts";
import { versioned } from "./chart_version.ts";
import { plainFolder, plainManifests } from "./plain_manifests.ts";

const { helm } = await resolveTools(["helm"]);
const own = join(chartFolder, "Chart.yaml");
await writeFile(own, versioned(await readFile(own, "utf8"), manifest.version));
for (const [file, text] of await plainManifests(helm)) {
  await writeFile(join(plainFolder, file), text);
  process.stdout.write(`deploy/kubernetes/${file}\n`);
}

// Entry point: prints the bill of materials of the image in SPDX 2.3: Debian packages, npm packages, Go modules, Deno
// and Ostler. Its arguments are the version, the creation time, and the paths of dpkg's status files.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import process from "node:process";
import { debianPackages, goModules, npmPackages, ownPackages } from "./materials.ts";
import { spdxDocument } from "./spdx.ts";

const [version = "", created = "", ...statusFiles] = process.argv.slice(2);
const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
const document = spdxDocument({ name: "ostler", version, created }, [
  ...ownPackages(version),
  ...(await Promise.all(statusFiles.map(async (path) => debianPackages(await readFile(path, "utf8"))))).flat(),
  ...await npmPackages(resolve("node_modules"), Object.keys(dependencies)),
  ...goModules(await readFile("profiles/engines/go/go.mod", "utf8"), "profiles/engines/go/engine.wasm.zst"),
]);
process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);

/** Lists the packages that the image contains, with package URLs (github.com/package-url/purl-spec). */
import process from "node:process";
import { installedPackages } from "./installed_packages.ts";
import type { Material } from "./spdx.ts";

/** Packages that compile workflows during the build, and are not part of the image. */
const isTool = (name: string): boolean => name.startsWith("@swc/");

/** Returns the installed packages from the text of a status file of dpkg, which does not state licenses. */
export function debianPackages(status: string): Material[] {
  return status.split(/\n\n+/).map(fieldsOf).flatMap((fields) => {
    const { Package: name, Version: version, Architecture: architecture, Status: state } = fields;
    if (!name || !version || (state !== undefined && !state.endsWith(" installed"))) return [];
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
    return [{ name, version, purl, supplier: "Organization: Debian" }];
  });
}

function fieldsOf(paragraph: string): Record<string, string> {
  const lines = [...paragraph.matchAll(/^([A-Za-z-]+): ?(.*)$/gm)];
  return Object.fromEntries(lines.map(([, name, value]) => [name, value]));
}

/**
 * Returns the installed npm packages with these names and all of their dependencies, except build tools; includes
 * packages of which the image has only a bundle.
 */
export async function npmPackages(nodeModules: string, names: readonly string[]): Promise<Material[]> {
  return (await installedPackages(nodeModules, names, isTool)).map(({ name, version, license }) => {
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    return { name, version, purl, ...(license === undefined ? {} : { license }) };
  });
}

/**
 * Returns the modules that the text of a go.mod requires; `program` is the path of the program into which they are
 * linked.
 */
export function goModules(text: string, program: string): Material[] {
  return [...text.matchAll(/^(?:require )?\t?([\w.-]+\.[a-z]+\/\S+) (v\S+)/gm)].map(([, name = "", version = ""]) => {
    return { name, version, purl: `pkg:golang/${name}@${version}`, comment: `Part of ${program}` };
  });
}

/**
 * Returns the entries of Ostler itself and of Deno. The version of Deno is that of this process, which the build of the
 * image runs with the Deno of the image.
 */
export function ownPackages(version: string): Material[] {
  const deno = process.versions["deno"] ?? "";
  return [
    { name: "ostler", version, purl: `pkg:generic/ostler@${encodeURIComponent(version)}` },
    { name: "deno", version: deno, purl: `pkg:github/denoland/deno@v${deno}`, license: "MIT" },
  ];
}

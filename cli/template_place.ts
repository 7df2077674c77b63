import { TemplateFault } from "../profiles/engines/template_engine.ts";
import type { ProfileRefused } from "../profiles/mod.ts";
import type { ProfileSource } from "./profile_library.ts";
import { startOf } from "./profile_library.ts";
import type { FieldPath, Place } from "./yaml_file.ts";

/** The place of a template: the first profile of a family that has the template, and the path in that profile. */
interface TemplateSite {
  source: ProfileSource;
  path: FieldPath;
}

/**
 * Returns the line in a profile's file that caused a refusal, or the start of the profile if that line is unknown.
 * `family` has the profile, then its parents.
 */
export function refusalPlace(family: readonly ProfileSource[], { cause }: ProfileRefused): Place {
  const own = family[0] ? startOf(family[0]) : { file: "" };
  if (!(cause instanceof TemplateFault)) return own;
  const { name, line } = toldPlace(cause);
  const site = name === undefined ? undefined : templateSite(family, name);
  return site ? site.source.object?.placeOfLine(site.path, line) ?? startOf(site.source) : own;
}

/**
 * Returns the place of the file or unit that a message about Ignition names; undefined if no profile of the family
 * defines that file or unit.
 */
export function ignitionPlace(family: readonly ProfileSource[], fault: string): Place | undefined {
  const [, kind, name = ""] = /^(?:Failed to write Ignition for )?(file|unit) "([^"]+)"/.exec(fault) ?? [];
  const site = kind === "unit" ? unitSite(family, name) : templateSite(family, name);
  return site?.source.object?.placeOf(site.path);
}

function unitSite(family: readonly ProfileSource[], name: string): TemplateSite | undefined {
  for (const source of family) {
    for (const phase of ["bootstrapConfig", "provisioningConfig"]) {
      const { units = [] } = (source.spec as Record<string, { units?: { name?: unknown }[] } | undefined>)[phase] ?? {};
      const at = units.findLastIndex((unit) => unit.name === name);
      if (at >= 0) return { source, path: ["spec", phase, "units", at] };
    }
  }
  return undefined;
}

/** Returns the place of the file or snippet of this name; undefined if no profile of the family has it. */
export function templateSite(family: readonly ProfileSource[], name: string): TemplateSite | undefined {
  for (const source of family) {
    const path = templatePath(source.spec, name);
    if (path !== undefined) return { source, path };
  }
  return undefined;
}

// Reads name and line from the message of a template engine. Go reports `template: /etc/x:3:5: executing …`; Eta
// reports `line 3: …`, `snippet "s": line 3: …` or `snippet "s" does not parse: … at line 3 col 5`.
function toldPlace({ message, file }: TemplateFault): { name: string | undefined; line: number } {
  const [, goName, goLine] = /template: (.+?):(\d+):/.exec(message) ?? [];
  const [, snippet] = /^snippet "([^"]+)"/.exec(message) ?? [];
  const [, line] = /(?:^|at |^snippet "[^"]+": )line (\d+)/.exec(message) ?? [];
  return { name: goName ?? snippet ?? file, line: Number(goLine ?? line ?? 0) };
}

interface AnyFile {
  path?: unknown;
}

interface AnyPhase {
  files?: AnyFile[];
  templates?: Record<string, string>;
  supportedContainerRuntimes?: { files?: AnyFile[]; templates?: Record<string, string> }[];
}

// A spec as written can lack any of these fields, because a profile can inherit them.
function templatePath(spec: unknown, name: string): FieldPath | undefined {
  for (const phase of ["bootstrapConfig", "provisioningConfig"]) {
    const said = (spec as Record<string, AnyPhase | undefined>)[phase] ?? {};
    const runtimes = (said.supportedContainerRuntimes ?? []).map((runtime, index): [FieldPath, AnyPhase] => {
      return [["supportedContainerRuntimes", index], runtime];
    });
    for (const [path, { files = [], templates = {} }] of [[[], said] as [FieldPath, AnyPhase], ...runtimes]) {
      const root = ["spec", phase, ...path];
      const index = files.findIndex((file) => file.path === name);
      if (index >= 0) return [...root, "files", index, "content", "inline", "data"];
      if (Object.hasOwn(templates, name)) return [...root, "templates", name];
    }
  }
  return undefined;
}

import { defaultProfiles } from "../profiles/mod.ts";
import { counted } from "../workflows/policy/counted.ts";
import { type CheckOptions, checkProfile, type ProfileCheck } from "./check_profile.ts";
import { TimedOut } from "./failure.ts";
import { type Finding, findingTable } from "./findings.ts";
import { isInstalled, type OutsideValidator, outsideValidators } from "./outside_validators.ts";
import { ProfileLibrary, profilesNamed, type ProfileSource } from "./profile_library.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { type Patience, patienceOf } from "./view/durations.ts";
import { YamlFault } from "./yaml_file.ts";

/** Arguments and flags of `ostler validate`. */
export interface ValidateOptions {
  /** Files, or names of profiles; empty for all built-in profiles. */
  profiles: string[];
  files?: string[];
  /** Values of parameters, as `name=value`. */
  parameter?: string[];
  output: "text" | "json";
  /** The maximum duration; findings until then are reported. */
  timeout: string;
}

/**
 * Checks profiles and prints the findings. Returns exit code 1 if there are errors, else 0. Throws TimedOut if
 * --timeout passed before all checks ended, and no errors were found until then.
 */
export async function validate(terminal: Terminal, options: ValidateOptions): Promise<number> {
  const patience = patienceOf(options);
  const parameters = parametersOf(options.parameter ?? []);
  const signal = patience.ms === 0 ? new AbortController().signal : AbortSignal.timeout(patience.ms);
  const library = await ProfileLibrary.read(terminal, options.files ?? []);
  const { sources, findings } = await readSources(terminal, library, options.profiles);
  const validators = new Set(await installed(terminal));
  const checks: ProfileCheck[] = [];
  for (const source of sources) {
    const onProgress = progress(terminal, source.name);
    const whole = library.with(sources);
    checks.push(await checkProfile(source, { library: whole, parameters, validators, onProgress, signal }));
  }
  if (terminal.isErrWatched) terminal.err("\r\x1b[K");
  const all = [...findings, ...checks.flatMap((check) => check.findings)];
  terminal.out(options.output === "json" ? jsonText(checks, all, validators) : text(terminal, checks, all));
  if (all.some(({ severity }) => severity === "error")) return 1;
  refuseCutShort(checks, patience);
  return 0;
}

function refuseCutShort(checks: ProfileCheck[], patience: Patience): void {
  const unfinished = checks.filter(({ isCutShort }) => isCutShort).map(({ profile }) => profile);
  if (unfinished.length === 0) return;
  throw new TimedOut(
    `Failed to check all profiles within ${patience.text}: checks of ${
      unfinished.join(", ")
    } did not finish; extend --timeout`,
  );
}

interface Sources {
  sources: ProfileSource[];
  findings: Finding[];
}

// A file that is not valid YAML becomes a finding, so that other files are still checked.
async function readSources(terminal: Terminal, library: ProfileLibrary, given: string[]): Promise<Sources> {
  const names = given.length > 0 ? given : (await defaultProfiles()).map(({ metadata }) => metadata.name);
  const sources: ProfileSource[] = [];
  const findings: Finding[] = [];
  for (const name of names) {
    try {
      sources.push(...await profilesNamed(terminal, library, name));
    } catch (error) {
      if (!(error instanceof YamlFault)) throw error;
      findings.push({ place: error.place, check: "yaml", severity: "error", message: error.why });
    }
  }
  return { sources, findings };
}

async function installed(terminal: Terminal): Promise<OutsideValidator[]> {
  const found = await Promise.all(outsideValidators.map((name) => isInstalled(name, terminal.env["PATH"] ?? "")));
  const missing = outsideValidators.filter((_, index) => !found[index]);
  if (missing.length > 0) {
    terminal.err(`checks skipped, because these programs are not installed: ${missing.join(", ")}\n`);
  }
  return outsideValidators.filter((_, index) => found[index]);
}

function progress({ isErrWatched, err }: Terminal, name: string): CheckOptions["onProgress"] {
  return (done, all) => {
    if (isErrWatched) err(`\r\x1b[K${name}: rendering ${done + 1} of ${all}`);
  };
}

function parametersOf(given: string[]): Record<string, string> {
  return Object.fromEntries(given.map((text) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [name, value];
    throw new UsageError(`Failed to use --parameter "${text}": it is not NAME=VALUE`);
  }));
}

function text(terminal: Terminal, checks: ProfileCheck[], findings: Finding[]): string {
  const lines = checks.map(({ profile, renderings, providers, findings: own, isCutShort }) => {
    const tried = renderings === 0 ? "not rendered" : `${counted(renderings, "rendering")} for ${providers.join(", ")}`;
    return `${profile}: ${isCutShort ? "not finished, " : ""}${countText(own)}; ${tried}\n`;
  });
  return findingTable(terminal, findings) + lines.join("");
}

function countText(findings: Finding[]): string {
  const count = (severity: Finding["severity"]): number => findings.filter((one) => one.severity === severity).length;
  const [errors, warnings] = [count("error"), count("warning")];
  if (errors + warnings === 0) return "no findings";
  return `${counted(errors, "error")}, ${counted(warnings, "warning")}`;
}

function jsonText(checks: ProfileCheck[], findings: Finding[], validators: ReadonlySet<OutsideValidator>): string {
  const profiles = checks.map(({ findings: _, ...told }) => told);
  return `${JSON.stringify({ profiles, validators: [...validators], findings }, null, 2)}\n`;
}

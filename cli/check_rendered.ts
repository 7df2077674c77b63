import { createHash } from "node:crypto";
import { parse } from "yaml";
import { bytesOf, type OsConfig, type OsProfile, type Phase, type TemplateEngines } from "../profiles/mod.ts";
import { definedTwice } from "../profiles/generators/ignition_entries.ts";
import { secretLimit, sizeWarning } from "../profiles/trial/size_limits.ts";
import type { CheckName, Findings } from "./findings.ts";
import { machineFiles } from "./machine_files.ts";
import {
  checkCloudConfig,
  checkScript,
  checkUnits,
  isShellScript,
  type OutsideFinding,
  type OutsideValidator,
} from "./outside_validators.ts";
import { type ProfileSource, startOf } from "./profile_library.ts";
import { ignitionPlace, templateSite } from "./template_place.ts";
import type { Place } from "./yaml_file.ts";

/** A profile being checked. */
export interface Subject {
  profile: OsProfile;
  /** The profile as written, then its parents from the nearest on. */
  family: ProfileSource[];
  findings: Findings;
  validators: ReadonlySet<OutsideValidator>;
  /** Program and hash of each text that an external program has checked already. */
  checked: Set<string>;
  engines: TemplateEngines;
  /** Cancels the check: renderings and external programs reject with the signal's reason. */
  signal: AbortSignal;
}

const unitFile = /^\/etc\/systemd\/system\/([^/]+(?:\.d\/[^/]+\.conf)?)$/;

/**
 * Has the installed external programs check the files of a config, each text once. Warns of files that contradict each
 * other, such as two definitions of one path.
 */
export async function checkFiles(subject: Subject, config: OsConfig): Promise<void> {
  warnOfConflicts(subject, config);
  const units: Record<string, string> = {};
  for (const { path, text } of machineFiles(config)) {
    const [, unit] = unitFile.exec(path) ?? [];
    if (unit !== undefined) units[unit] = text;
    if (/\.(json|ya?ml)$/.test(path)) checkSyntax(subject, path, text);
    if (!isShellScript(text) || takeUp(subject, "shellcheck", text) !== "new") continue;
    tell(subject, { path, check: "shellcheck" }, await checkScript(text, subject.signal));
  }
  if (takeUp(subject, "systemd-analyze", JSON.stringify(units)) !== "new") return;
  for (const finding of await checkUnits(units, subject.signal)) {
    tell(subject, { path: `/etc/systemd/system/${finding.unit}`, check: "systemd" }, [finding]);
  }
}

/** Matches containerd 1.x in the forms in which packages and downloads name it. */
const oldContainerd = /\bcontainerd(?:\.io)?[=~_-]+v?(?:\d+:)?1\.\d/;

function warnOfConflicts(subject: Subject, config: OsConfig): void {
  const { bootstrapConfig, provisioningConfig, provisioningUtility, ignitionVersion = "2.3.0" } = config;
  const warn = (path: string, check: CheckName, message: string): void =>
    tell(subject, { path, check }, [{ severity: "warning", message }]);
  // In Ignition 3 a path that is defined twice needs no warning, because writing the user-data fails.
  if (provisioningUtility === "ignition" && ignitionVersion === "2.3.0") {
    for (const twice of [bootstrapConfig, provisioningConfig].flatMap(definedTwice)) {
      const place = ignitionPlace(subject.family, twice) ?? placeOf(subject.family, "");
      const message = `ignition: ${twice}; Ignition fails on the machine`;
      subject.findings.add({ place, check: "user-data", severity: "warning", message });
    }
  }
  const files = machineFiles(config);
  const toml = files.find(({ path, text }) => path.endsWith("/containerd/config.toml") && /^version = 3$/m.test(text));
  const pinning = toml && files.find(({ text }) => oldContainerd.test(text));
  if (!pinning) return;
  const message =
    `installs containerd 1.x, which cannot read config version 3 in ${toml.path}; install 2.x, or write version 2`;
  warn(pinning.path, "render", message);
}

function checkSyntax(subject: Subject, path: string, text: string): void {
  if (isTooLarge(text)) return;
  try {
    parse(text);
  } catch (error) {
    const [message = ""] = (error as Error).message.split("\n");
    tell(subject, { path, check: "render" }, [{ severity: "error", message: `is not valid YAML: ${message}` }]);
  }
}

/**
 * Returns whether a text exceeds the size limit of a Secret. Such a text is not parsed, because parsing needs much
 * memory; the check of the size of user-data reports it.
 */
function isTooLarge(text: string): boolean {
  return bytesOf(text) > secretLimit;
}

/** A user-data text, and the trial that it was rendered for. */
interface UserDataCheck {
  phase: Phase;
  provider: string;
  userData: string;
  /** Which fields of the trial's MachineDeployment are set, such as "with nothing set". */
  situation: string;
  /** Provider, kubelet version and situation, for messages. */
  where: string;
}

/** Checks that user-data can be parsed and is not too large; if cloud-init is installed, also validates its schema. */
export async function checkUserData(
  subject: Subject,
  { phase, provider, userData, situation, where }: UserDataCheck,
): Promise<void> {
  const { profile, findings, family } = subject;
  const place = family[0] ? startOf(family[0]) : { file: "" };
  const isIgnition = profile.provisioningUtility === "ignition";
  try {
    if (isIgnition) JSON.parse(userData);
    else if (!isTooLarge(userData)) parse(userData, { version: "1.1" });
  } catch (error) {
    const [why = ""] = (error as Error).message.split("\n");
    const message = `the ${phase} user-data cannot be parsed: ${why}`;
    findings.add({ place, check: "user-data", severity: "error", message }, where);
  }
  const warning = sizeWarning({ provider, phase, operatingSystem: profile.osName, text: userData });
  if (warning !== undefined) findings.add({ place, check: "size", severity: "error", message: warning }, where);
  // Each call of cloud-init takes a third of a second. So of all user-data with the same phase, kind of provider (AWS
  // or not) and situation (the fields that are set), only the first is checked: they differ only in the contents of
  // files.
  const kind = JSON.stringify([phase, provider === "aws", situation]);
  if (isIgnition || takeUp(subject, "cloud-init", kind) !== "new") return;
  for (const { severity, message } of await checkCloudConfig(userData, subject.signal)) {
    findings.add({ place, check: "cloud-init", severity, message: `${phase} user-data: ${message}` }, where);
  }
}

/**
 * Returns "missing" if the program is not installed, "seen" if the program has checked this text already, else "new";
 * the text then counts as checked.
 */
function takeUp(
  { validators, checked }: Subject,
  validator: OutsideValidator,
  text: string,
): "new" | "seen" | "missing" {
  if (!validators.has(validator)) return "missing";
  const key = `${validator} ${createHash("sha256").update(text).digest("hex")}`;
  if (checked.has(key)) return "seen";
  checked.add(key);
  return "new";
}

interface Said {
  path: string;
  check: CheckName;
}

function tell({ family, findings }: Subject, { path, check }: Said, said: OutsideFinding[]): void {
  for (const { line, severity, message } of said) {
    const at = line === undefined ? path : `${path}, line ${line} when rendered`;
    findings.add({ place: placeOf(family, path), check, severity, message: `${at}: ${message}` });
  }
}

function placeOf(family: ProfileSource[], path: string): Place {
  const site = templateSite(family, path);
  if (site !== undefined) return site.source.object?.placeOf(site.path) ?? startOf(site.source);
  return family[0] ? startOf(family[0]) : { file: "" };
}

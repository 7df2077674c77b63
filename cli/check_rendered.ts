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
import { templateSite } from "./template_place.ts";
import type { Place } from "./yaml_file.ts";

/** A profile being checked. */
export interface Subject {
  profile: OsProfile;
  /** The profile and its parents as written, youngest first. */
  family: ProfileSource[];
  findings: Findings;
  validators: ReadonlySet<OutsideValidator>;
  /** Hashes of texts that other programs have seen already. */
  checked: Set<string>;
  engines: TemplateEngines;
  /** Ends the check at once: renderings and other programs reject with its reason. */
  signal: AbortSignal;
}

const unitFile = /^\/etc\/systemd\/system\/([^/]+(?:\.d\/[^/]+\.conf)?)$/;

/** Shows every file to whoever knows its kind; each text once. */
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

/** containerd of a version 1, as package managers and downloads name it. */
const oldContainerd = /\bcontainerd(?:\.io)?[=~_-]+v?(?:\d+:)?1\.\d/;

function warnOfConflicts(subject: Subject, config: OsConfig): void {
  const { bootstrapConfig, provisioningConfig, provisioningUtility } = config;
  const warn = (path: string, check: CheckName, message: string): void =>
    tell(subject, { path, check }, [{ severity: "warning", message }]);
  if (provisioningUtility === "ignition") {
    for (const twice of [bootstrapConfig, provisioningConfig].flatMap(definedTwice)) {
      warn("ignition", "user-data", `${twice}; Ignition fails on the machine`);
    }
  }
  const files = machineFiles(config);
  const toml = files.find(({ path, text }) => path.endsWith("/containerd/config.toml") && /^version = 3$/m.test(text));
  const pinning = toml && files.find(({ text }) => oldContainerd.test(text));
  if (!pinning) return;
  const message =
    `installs containerd 1.x, which cannot read version 3 of ${toml.path}; install 2.x, or write version 2`;
  warn(pinning.path, "render", message);
}

function checkSyntax(subject: Subject, path: string, text: string): void {
  if (isTooLarge(text)) return;
  try {
    parse(text);
  } catch (error) {
    const [message = ""] = (error as Error).message.split("\n");
    tell(subject, { path, check: "render" }, [{ severity: "error", message: `is no YAML: ${message}` }]);
  }
}

/** What is larger than a Secret cannot be used, which is said elsewhere; parsing it would take a few hundred times as much. */
function isTooLarge(text: string): boolean {
  return bytesOf(text) > secretLimit;
}

/** One user-data text, and for whom it was made. */
export interface UserDataCheck {
  phase: Phase;
  provider: string;
  userData: string;
  /** How the MachineDeployment is, in words; `where` tells all of it. */
  situation: string;
  where: string;
}

/** Reads user-data as a machine would, and measures it. */
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
    const message = `the ${phase} user-data cannot be read: ${why}`;
    findings.add({ place, check: "user-data", severity: "error", message }, where);
  }
  const warning = sizeWarning({ provider, phase, operatingSystem: profile.osName, text: userData });
  if (warning !== undefined) findings.add({ place, check: "size", severity: "error", message: warning }, where);
  // How it is written does not depend on what stands in its files, and each look takes a third of a second.
  const kind = JSON.stringify([phase, provider === "aws", situation]);
  if (isIgnition || takeUp(subject, "cloud-init", kind) !== "new") return;
  for (const { severity, message } of await checkCloudConfig(userData, subject.signal)) {
    findings.add({ place, check: "cloud-init", severity, message: `${phase} user-data: ${message}` }, where);
  }
}

/** Notes that a program sees this text now, unless it is missing or has seen it already. */
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

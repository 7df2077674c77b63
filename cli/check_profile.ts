import {
  generateUserData,
  inWords,
  OsProfile,
  parameterPrefix,
  ProfileRefused,
  renderConfig,
  supportedMinors,
  unknownProviders,
  usableProviders,
  userDataFacts,
} from "../profiles/mod.ts";
import { type Trial, trialsOf } from "../profiles/trial/trial_facts.ts";
import { enginesUntil } from "../profiles/templates.ts";
import { isFault, isRunaway } from "../profiles/trial/try_profile.ts";
import { checkFiles, checkUserData, type Subject } from "./check_rendered.ts";
import { type Finding, Findings } from "./findings.ts";
import type { OutsideValidator } from "./outside_validators.ts";
import { type ProfileLibrary, type ProfileSource, startOf } from "./profile_library.ts";
import { phases } from "./rendering.ts";
import { ignitionPlace, refusalPlace } from "./template_place.ts";
import type { FieldPath, Place } from "./yaml_file.ts";

const kubeletOf = (minor: number): string => `1.${minor}.0`;
const newestKubelet = kubeletOf(Math.max(...supportedMinors));

/** Options of a check. */
export interface CheckOptions {
  library: ProfileLibrary;
  /** Trial values of parameters without a default, by name. */
  parameters: Record<string, string>;
  /** The installed external programs, which check the rendered files. */
  validators: ReadonlySet<OutsideValidator>;
  /** Called before each rendering, with the number of finished renderings and their total. */
  onProgress: (done: number, all: number) => void;
  /** Cancels the check. */
  signal: AbortSignal;
}

/** The result for one profile. */
export interface ProfileCheck {
  profile: string;
  providers: string[];
  renderings: number;
  findings: Finding[];
  /** Whether the check was cancelled before all renderings were tried. */
  isCutShort: boolean;
}

/** Checks a profile: merges its parents in, and renders it for each of its providers and each kubelet minor version. */
export async function checkProfile(source: ProfileSource, options: CheckOptions): Promise<ProfileCheck> {
  const findings = new Findings();
  const ended = (providers: string[] = [], renderings = 0): ProfileCheck => {
    const isCutShort = options.signal.aborted;
    return { profile: source.name, providers, renderings, findings: findings.list(), isCutShort };
  };
  if (judgeFields(source, findings) === "unusable") return ended();
  const family = options.library.familyOf(source);
  const profile = await options.library.resolve(source).catch((error) => {
    if (!(error instanceof ProfileRefused)) throw error;
    const place = source.object?.placeOf(["spec", "extends"]) ?? startOf(source);
    findings.add({ place, check: "extends", severity: "error", message: error.message });
  });
  if (profile === undefined) return ended();
  warnOfUnusedPackages(profile, { source, findings });
  warnOfUnknownProviders(profile, { source, findings });
  const trials = trialsOfMinors(profile, options.parameters);
  const { validators, signal } = options;
  const engines = enginesUntil(signal);
  const subject = { profile, family, findings, validators, checked: new Set<string>(), engines, signal };
  const providers = usableProviders(profile);
  for (const [done, trial] of trials.entries()) {
    options.onProgress(done, trials.length);
    if (!await tryOne(subject, trial)) return ended(providers, done);
  }
  return ended(providers, trials.length);
}

/**
 * Adds a finding for each invalid field of the spec; returns "unusable" if the spec has such a field, else "usable".
 */
function judgeFields(source: ProfileSource, findings: Findings): "usable" | "unusable" {
  const parsed = OsProfile.safeParse(source.spec, { error: inWords });
  for (const issue of parsed.error?.issues ?? []) {
    const isUnknown = issue.code === "unrecognized_keys";
    for (const extra of isUnknown ? issue.keys.map((key) => [key]) : [[]]) {
      const path = [...issue.path, ...extra] as FieldPath;
      const place = source.object?.placeOf(["spec", ...path]) ?? startOf(source);
      const message = `${["spec", ...path].join(".")}: ${isUnknown ? "unknown field" : issue.message}`;
      findings.add({ place, check: "schema", severity: "error", message });
    }
  }
  return parsed.success ? "usable" : "unusable";
}

// Warns of packages that no template of an Eta profile refers to, because nothing else installs them.
function warnOfUnusedPackages(
  profile: OsProfile,
  { source, findings }: { source: ProfileSource; findings: Findings },
): void {
  for (const phase of ["bootstrapConfig", "provisioningConfig"] as const) {
    const isAsked = profile.templating === "eta" && (profile[phase].packages ?? []).length > 0;
    if (!isAsked || JSON.stringify(profile).includes("it.packages")) continue;
    const place = source.object?.placeOf(["spec", phase, "packages"]) ?? startOf(source);
    const message = `spec.${phase}.packages: no template refers to it.packages, so nothing installs these packages`;
    findings.add({ place, check: "render", severity: "warning", message });
  }
}

function warnOfUnknownProviders(
  profile: OsProfile,
  { source, findings }: { source: ProfileSource; findings: Findings },
): void {
  for (const { index, message } of unknownProviders(profile)) {
    const path = ["spec", "supportedCloudProviders", index, "name"];
    const place = source.object?.placeOf(path) ?? startOf(source);
    findings.add({ place, check: "schema", severity: "warning", message: `${path.join(".")}: ${message}` });
  }
}

function trialsOfMinors(profile: OsProfile, parameters: Record<string, string>): Trial[] {
  const said = Object.entries(parameters).map(([name, value]) => [parameterPrefix + name, value]);
  return trialsOf(profile).flatMap((trial) =>
    supportedMinors.toReversed().map((minor) => {
      const { facts } = trial;
      const annotations = { ...facts.deployment.annotations, ...Object.fromEntries(said) };
      const deployment = { ...facts.deployment, annotations, kubelet: kubeletOf(minor) };
      return { ...trial, facts: { ...facts, deployment } };
    })
  );
}

/**
 * Renders the profile for one trial MachineDeployment, and checks the output. Returns false if the check was cancelled,
 * or if further trials would add no findings.
 */
async function tryOne(subject: Subject, trial: Trial): Promise<boolean> {
  const { profile, family, findings } = subject;
  const { facts, provider, situation } = trial;
  const where = `on ${provider} with kubelet ${facts.deployment.kubelet}, ${situation}`;
  try {
    subject.signal.throwIfAborted();
    const config = await renderConfig(profile, facts, subject.engines);
    // Files are checked only as rendered for the newest kubelet, because they hardly depend on its version, and
    // external programs are slow.
    if (facts.deployment.kubelet === newestKubelet) await checkFiles(subject, config);
    for (const phase of phases) {
      const userData = generateUserData(config, phase, userDataFacts(facts));
      await checkUserData(subject, { phase, provider, userData, situation, where });
    }
  } catch (error) {
    if (subject.signal.aborted && error === subject.signal.reason) return false;
    if (!(error instanceof ProfileRefused)) throw error;
    const { reason, message } = error;
    if (isRunaway(error)) {
      const told = `${message}; the check of this profile stopped`;
      findings.add({ place: refusalPlace(family, error), check: "render", severity: "error", message: told }, where);
      return false;
    }
    if (reason === "ParameterInvalid") {
      findings.add({
        place: parameterPlace(family),
        check: "render",
        severity: "error",
        message: parameterHint(message),
      });
      return false;
    }
    const severity = isFault(error, trial) ? "error" : "warning";
    const place = ignitionPlace(family, message) ?? refusalPlace(family, error);
    findings.add({ place, check: "render", severity, message }, where);
  }
  return true;
}

function parameterPlace([own]: ProfileSource[]): Place {
  return own?.object?.placeOf(["spec", "parameters"]) ?? { file: own?.name ?? "" };
}

function parameterHint(message: string): string {
  if (message.includes("has no such parameter")) return message;
  return `${message}; set a trial value with --parameter NAME=VALUE`;
}

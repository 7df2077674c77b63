import { generateUserData, userDataFacts } from "../generate_user_data.ts";
import type { Phase } from "../generators/user_data_generator.ts";
import type { OsConfig } from "../os_config.ts";
import { RunawayFault } from "../engines/template_engine.ts";
import { ProfileRefused } from "../refusal.ts";
import { renderConfig } from "../render_config.ts";
import type { OsProfile } from "../schema.ts";
import type { TemplateEngines } from "../engines/kept_engines.ts";
import { enginesUntil } from "../templates.ts";
import { sizeWarning } from "./size_limits.ts";
import { type Trial, trialsOf } from "./trial_facts.ts";

/** What came out of rendering a profile for every provider it supports. */
export interface TrialResult {
  /** What no MachineDeployment can mend, each with file, line and one provider; none when the profile is sound. */
  faults: string[];
  /** What somebody may run into. */
  warnings: string[];
}

export interface TrialOptions {
  engines?: TemplateEngines;
  /** Ends the trial at once; what was not tried by then is a warning. */
  signal?: AbortSignal;
}

// A Go template that says fail, or takes something optional for granted, may be right for the MachineDeployments it is for.
const isOnPurpose = /error calling fail:/;
const mayMissSomething = /error calling |<nil>|nil pointer evaluating/;

/**
 * Renders a profile whose parents are merged in, and writes its user-data, in all situations on all its providers; the
 * first template that runs away ends it, as every further trial would take as long.
 * Rejects with what the engines reject with when a new try may help.
 */
export async function tryProfile(profile: OsProfile, { engines, signal }: TrialOptions = {}): Promise<TrialResult> {
  const faults = new Map<string, string>();
  const warnings = new Map<string, string>();
  const bounded = signal === undefined ? engines : enginesUntil(signal, engines);
  for (const trial of trialsOf(profile)) {
    const where = `provider "${trial.provider}" ${trial.situation}`;
    try {
      signal?.throwIfAborted();
      const config = await renderConfig(profile, trial.facts, bounded);
      for (const [phase, warning] of sizesOf(config, trial)) warnings.set(`${trial.provider} ${phase}`, warning);
    } catch (error) {
      if (signal?.aborted && error === signal.reason) {
        warnings.set("late", `the trial took too long; it ended before ${where} was done`);
        break;
      }
      if (!(error instanceof ProfileRefused)) throw error;
      const found = isFault(error, trial) ? faults : warnings;
      const { message } = error;
      const rest = isRunaway(error) ? "; nothing further was tried" : "";
      if (!found.has(message)) found.set(message, `${message} (on ${where})${rest}`);
      if (isRunaway(error)) break;
    }
  }
  for (const message of faults.keys()) warnings.delete(message);
  return { faults: [...faults.values()], warnings: [...warnings.values()] };
}

/** A template had to be stopped: the next trial would end the same way, and take as long. */
export function isRunaway({ cause }: ProfileRefused): boolean {
  return cause instanceof RunawayFault;
}

/** The profile is to blame; false where it may be right, but not for every MachineDeployment. */
export function isFault({ reason, message }: ProfileRefused, { isEverythingSaid }: Trial): boolean {
  if (reason === "ParameterInvalid" || isOnPurpose.test(message)) return false;
  return isEverythingSaid || !mayMissSomething.test(message);
}

function sizesOf(config: OsConfig, { provider, facts }: Trial): [Phase, string][] {
  const { operatingSystem } = facts.provider;
  return (["bootstrap", "provisioning"] as const).flatMap((phase) => {
    const text = generateUserData(config, phase, userDataFacts(facts));
    const warning = sizeWarning({ phase, provider, operatingSystem, text });
    return warning === undefined ? [] : [[phase, warning] satisfies [Phase, string]];
  });
}

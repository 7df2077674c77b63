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

/** The result of rendering a profile for every provider that it supports. */
interface TrialResult {
  /** Faults that no MachineDeployment can fix, each with file, line and one provider; empty if the profile is valid. */
  faults: string[];
  /**
   * Faults that only some MachineDeployments would have, user-data over a size limit, and an early end of the trial.
   */
  warnings: string[];
}

interface TrialOptions {
  engines?: TemplateEngines;
  /** Ends the trial as soon as this signal aborts; the result then has a warning that the trial is incomplete. */
  signal?: AbortSignal;
}

// A Go template that calls `fail`, or that requires an optional value, can be valid for the MachineDeployments that use
// the profile.
const isOnPurpose = /error calling fail:/;
const mayMissSomething = /error calling |<nil>|nil pointer evaluating/;

/**
 * Renders a profile whose parents are merged in, and writes its user-data, in all situations for all its providers.
 * Stops after the first template that exceeds a limit, because every further trial would take as long. Rejects with
 * those errors of the engines for which a retry can help.
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
        warnings.set(
          "late",
          `the test rendering took too long; it stopped before the profile was rendered for ${where}`,
        );
        break;
      }
      if (!(error instanceof ProfileRefused)) throw error;
      const found = isFault(error, trial) ? faults : warnings;
      const { message } = error;
      const rest = isRunaway(error) ? "; the trial stopped there" : "";
      if (!found.has(message)) found.set(message, `${message} (on ${where})${rest}`);
      if (isRunaway(error)) break;
    }
  }
  for (const message of faults.keys()) warnings.delete(message);
  return { faults: [...faults.values()], warnings: [...warnings.values()] };
}

/** Returns whether a template had to be stopped, so that the next trial would take as long and end the same way. */
export function isRunaway({ cause }: ProfileRefused): boolean {
  return cause instanceof RunawayFault;
}

/** Returns whether the profile is invalid; false if it can be valid for some MachineDeployments. */
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

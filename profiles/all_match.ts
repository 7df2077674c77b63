/** Regular expressions of strangers, for whom a moment of the processor is all there is. */
import process from "node:process";
import { type Context, createContext, Script } from "node:vm";

/** Milliseconds of processor time: some patterns take longer than the universe will last. */
const matchMs = 100;
/** Times that a match is begun anew which the clock ended, though it had hardly had the processor by then. */
const tries = 20;

/** What a match runs on. */
export interface Processor {
  /** Whether all texts match; throws when it took longer than `ms` by the clock. */
  run(pattern: string, texts: string[], ms: number): boolean;
  /** Milliseconds of processor time that this process has had. */
  usedMs(): number;
}

const script = "((wanted) => texts.every((text) => wanted.test(text)))(new RegExp(`^(?:${pattern})$`, 'u'))";

// One for all matches, as a pattern runs no code of its own: to make one takes twenty times as long as most matches, and
// most of a MiB until the collector finds it.
let realm: { context: Context; match: Script } | undefined;

const own: Processor = {
  run: (pattern, texts, timeout) => {
    const { context, match } = realm ??= { context: createContext(), match: new Script(script) };
    Object.assign(context, { pattern, texts });
    return match.runInContext(context, { timeout });
  },
  usedMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

/** Whether the whole of each text matches; false where that cannot be told in time. */
export function allMatch(pattern: string, texts: string[], processor = own): boolean {
  const begun = processor.usedMs();
  for (let nth = 0; nth < tries; nth++) {
    try {
      return processor.run(pattern, texts, matchMs);
    } catch (error) {
      const isLate = (error as { code?: string }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
      // A clock runs on while others have the processor.
      if (!isLate || processor.usedMs() - begun >= matchMs / 2) return false;
    }
  }
  return false;
}

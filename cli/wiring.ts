import type { ConnectOptions, World } from "./connect/world.ts";
import type { Terminal } from "./terminal.ts";

/** The context that commands get. */
export interface Wiring {
  terminal: Terminal;
  /** The whole command line up to `--`, which has the settings. */
  argv: string[];
  /** The help on settings of the machines; only on a command line that may have them. */
  settingsHelp?: string;
  /** Ends the command with an exit code. */
  end(code: number): void;
  /** Runs work that needs Kubernetes or Temporal. */
  inWorld<T>(flags: ConnectOptions, work: (world: World) => Promise<T>): Promise<T>;
}

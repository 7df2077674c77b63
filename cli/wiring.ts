import type { ConnectOptions, World } from "./connect/world.ts";
import type { Terminal } from "./terminal.ts";

/** The context that commands get. */
export interface Wiring {
  terminal: Terminal;
  /** The command line up to `--`, with the settings of the machines. */
  argv: string[];
  /** The help on settings of the machines; missing if no command of the command line accepts them. */
  settingsHelp?: string;
  /** Ends the command with an exit code. */
  end(code: number): void;
  /** Runs work that needs Kubernetes or Temporal. */
  inWorld<T>(flags: ConnectOptions, work: (world: World) => Promise<T>): Promise<T>;
}

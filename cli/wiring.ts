import type { ConnectOptions, World } from "./connect/world.ts";
import type { Terminal } from "./terminal.ts";

/** What commands are given to work with. */
export interface Wiring {
  terminal: Terminal;
  /** The whole command line up to `--`: settings are read from it. */
  argv: string[];
  /** What `--help` tells of the settings of the machines; only on a command line that may take them. */
  settingsHelp?: string;
  /** Ends the command with an exit code. */
  end(code: number): void;
  /** Runs work that needs Kubernetes or Temporal. */
  inWorld<T>(flags: ConnectOptions, work: (world: World) => Promise<T>): Promise<T>;
}

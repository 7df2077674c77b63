import type { ConnectOptions, World } from "./connect/world.ts";
import type { Terminal } from "./terminal.ts";

/** The context that commands get. */
export interface Wiring {
  terminal: Terminal;
  /** The arguments of the command line before `--`, including settings of machines such as `--node-http-proxy`. */
  argv: string[];
  /** The help text on settings of machines; missing if the called command does not accept such settings. */
  settingsHelp?: string;
  /** Ends the command with an exit code. */
  end(code: number): void;
  /** Runs work that needs Kubernetes or Temporal. */
  inWorld<T>(flags: ConnectOptions, work: (world: World) => Promise<T>): Promise<T>;
}

/** Flags of a release. */
import type { ConnectOptions } from "../connect/world.ts";
import type { Format } from "../view/output.ts";

export interface ReleaseFlags extends ConnectOptions {
  output: Format;
  dryRun?: boolean;
  yes?: boolean;
  unfinished?: boolean;
  unrenderable?: boolean;
  withoutTemporal?: boolean;
  systemNamespace: string;
  profileNamespace: string;
}

import type { Client } from "@temporalio/client";
import type { Observer } from "../observer/observer.ts";
import type { Site } from "../site/site.ts";
import type { ApiConnection } from "../stack/api_connection.ts";
import type { FleetWatch } from "./fleet_watch.ts";
import type { Narrator } from "./narrator.ts";
import type { Runs } from "./runs.ts";
import type { Waits } from "./waits.ts";

/** The pool of a story, and its environment; `StoryScene` adds the fields for stories about one feature. */
export interface Scene {
  readonly narrator: Narrator;
  readonly waits: Waits;
  readonly site: Site;
  /** A connection as administrator. */
  readonly api: ApiConnection;
  readonly client: Client;
  readonly runs: Runs;
  readonly fleet: FleetWatch;
  readonly observer: Observer;
}

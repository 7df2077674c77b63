/** What a run has read of what is desired, for the publication that it asks for next. */
import { HandedOn } from "../kube/handed_on.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import type { LinedProfile } from "./profile_line.ts";

export interface DesiredInputs {
  deployment: MachineDeployment;
  /** Its profile, and those that it is built on. */
  line: LinedProfile[];
  /** When they were begun to be read, as `performance.now()` tells. */
  since: number;
}

export const desiredInputs = new HandedOn<DesiredInputs>();

/** What `ostler status` says of who holds new machines, where that is not the API server's own policy. */
import type { Kube } from "../../activities/kube/client.ts";
import { type NewMachinesHeldBy, newMachinesHeldBy } from "../../activities/kube/hold_admission.ts";
import { statusOf } from "../../activities/kube/status.ts";

/** Undefined where this person may not know. */
export async function heldNewcomers(kube: Kube): Promise<NewMachinesHeldBy | undefined> {
  try {
    return await newMachinesHeldBy(kube);
  } catch (error) {
    // The table is worth more than this line.
    if (statusOf(error) !== undefined) return undefined;
    throw error;
  }
}

const lines: Record<NewMachinesHeldBy, string> = {
  policy: "",
  webhook: "New machines are held by the webhook: this API server has no policy for it\n",
  nobody:
    "Nothing holds new machines: neither the admission policy nor the webhook is installed; rollouts are not paced\n",
};

/** A line for people, or nothing. */
export function heldLine(heldBy: NewMachinesHeldBy | undefined): string {
  return heldBy === undefined ? "" : lines[heldBy];
}

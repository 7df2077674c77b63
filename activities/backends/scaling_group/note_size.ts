/** Writes down how many machines a group keeps, before anything is recorded by which its size could be another for our sake. */
import type { Kube } from "../../kube/client.ts";
import { patchLedger, written } from "./ledger.ts";
import type { Asked, CloudSight } from "./sight.ts";
import { declaredSize, isUncertain } from "./size.ts";

/** Only where that is known now: else what was written before holds. */
export async function noteSize(kube: Kube, { asked, seen }: { asked: Asked; seen: CloudSight }): Promise<void> {
  const { group: { metadata }, ledger } = asked;
  if (isUncertain(seen) && ledger.declared !== undefined) return;
  const declared = declaredSize(seen, ledger);
  if (declared !== ledger.declared) await patchLedger(kube, metadata, written({ declared }));
}

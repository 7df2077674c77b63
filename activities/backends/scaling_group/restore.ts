/** Goes back: the group boots what it booted before, by the template that the cloud has kept, until something else is asked for. */
import type { Kube } from "../../kube/client.ts";
import { readObject, rollouts } from "../../kube/resources.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import { refused } from "../../failures.ts";
import { emitEvents } from "../../status/events.ts";
import { memoryOf } from "../../status/recall.ts";
import type { RestoreOrder } from "../contract.ts";
import { type Boots, patchLedger, written } from "./ledger.ts";
import { type Asked, groupNameOf, readAsked } from "./sight.ts";
import { subjectOfGroup } from "./subject.ts";
import { askedBy, hashOf } from "../../node_version/release.ts";

/** Pins the group to what was last good there; its NodeVersion stays as people wrote it. Refused as "LastGoodMissing". */
export function restoreGroup(kube: Kube, order: RestoreOrder): Promise<{ changed: boolean }> {
  const name = groupNameOf(order.pool);
  return attempting(`go back to what was last good in scaling group "${name}"`, async () => {
    const asked = await readAsked(kube, order.pool);
    if (!asked || asked.group.metadata.deletionTimestamp) return { changed: false };
    const good = await goodBoots(kube, asked, order);
    const from = hashOf(askedBy(asked.version));
    const { pin } = asked.ledger;
    if (hashOf(good) === from || (pin?.from === from && hashOf(pin.boots) === hashOf(good))) return { changed: false };
    await patchLedger(kube, asked.group.metadata, written({ pin: { from, boots: good } }));
    const message = `Went back to image ${good.image}, by ${order.by}: ${order.reason}`;
    await emitEvents(kube, subjectOfGroup(asked.group), [{ type: "Warning", reason: "LastGoodRestored", message }]);
    return { changed: true };
  });
}

async function goodBoots(kube: Kube, { ledger: { boots, former } }: Asked, { pool }: RestoreOrder): Promise<Boots> {
  const { namespace, name } = pool;
  const { lastGood } = memoryOf(await ifFound(readObject(kube, rollouts, { namespace, name })));
  const found = [former, boots].find((each) => each && hashOf(each) === lastGood?.specHash);
  if (found) return found;
  const state = lastGood ? "what it booted then was not kept" : "no rollout of it has converged yet";
  throw refused("LastGoodMissing", `Cannot go back to what was last good in "${groupNameOf(pool)}": ${state}`);
}

import assert from "node:assert/strict";
import { WriteLedger } from "../../../support/steady/write_ledger.ts";

Deno.test("WriteLedger: accepts an unconfirmed write whether stored or not, and reports the loss of an acknowledged write", () => {
  const ledger = new WriteLedger();
  const kept = ledger.next();
  ledger.acknowledge(kept.slot, kept.value);
  const doubtful = ledger.next();
  const expected = ledger.expected();
  ledger.compare(expected, { [kept.slot]: "1" });
  ledger.compare(expected, { [kept.slot]: "1", [doubtful.slot]: "2" });
  assert.deepEqual(ledger.broken, []);
  ledger.compare(expected, { [doubtful.slot]: "2" });
  assert.deepEqual(ledger.broken, ['"slot-1" has 0, and 1 was acknowledged, 1 attempted']);
});

Deno.test("WriteLedger: reports a slot that has an earlier value again instead of its last acknowledged value", () => {
  const ledger = new WriteLedger();
  const writes = Array.from({ length: 65 }, () => ledger.next());
  for (const { slot, value } of writes) ledger.acknowledge(slot, value);
  const data = Object.fromEntries(writes.map(({ slot, value }) => [slot, `${value}`]));
  ledger.compare(ledger.expected(), data);
  assert.deepEqual([ledger.acknowledged, ledger.broken], [65, []]);
  ledger.compare(ledger.expected(), { ...data, "slot-1": "1" });
  assert.equal(ledger.broken.length, 1);
});

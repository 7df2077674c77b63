import { deepEqual, equal } from "node:assert/strict";
import { Outlook } from "../../../../activities/pool/outlook.ts";
import type { Member } from "../../../../workflows/contracts/mod.ts";

const minute = 60_000;
const grace = 30_000;

function dueAfter(outlook: Outlook, due: number): number | undefined {
  return outlook.tempered([{ ill: { why: "not Ready", since: 0, due } } as Member])[0]?.ill?.due;
}

function lookedEachMinute(from: number, to: number, outlook = new Outlook()): Outlook {
  for (let now = from; now <= to; now += minute) outlook.looked(now);
  return outlook;
}

Deno.test("Outlook: makes no machine due for repair before a grace period after the first read", () => {
  equal(dueAfter(lookedEachMinute(10 * minute, 10 * minute), 0), 10 * minute + grace);
});

Deno.test("Outlook: does not change due times while reads continue without an outage", () => {
  equal(dueAfter(lookedEachMinute(0, 20 * minute), 20 * minute), 20 * minute);
});

Deno.test("Outlook: makes no machine due for repair before a grace period after an API outage", () => {
  const outlook = lookedEachMinute(0, 5 * minute);
  outlook.looked(30 * minute);
  equal(dueAfter(outlook, 10 * minute), 30 * minute + grace);
  lookedEachMinute(31 * minute, 33 * minute, outlook);
  equal(dueAfter(outlook, 10 * minute), 30 * minute + grace);
});

Deno.test("Outlook: does not treat a machine as lost at the first read, but after a minute of reads", () => {
  const lostIn = (outlook: Outlook): unknown => outlook.tempered([{ lost: true } as Member])[0]?.lost;
  equal(lostIn(lookedEachMinute(0, 0)), undefined);
  equal(lostIn(lookedEachMinute(0, minute)), true);
});

Deno.test("Outlook: leaves members of the pool that are healthy unchanged", () => {
  const sound = { id: "a" } as Member;
  deepEqual(lookedEachMinute(0, 0).tempered([sound]), [sound]);
});

Deno.test("Outlook: remembers when a node was first missing, until it is found", () => {
  const outlook = new Outlook();
  deepEqual([outlook.missed("fleet/a", 1), outlook.missed("fleet/a", 2), outlook.missed("fleet/b", 3)], [1, 1, 3]);
  outlook.found("fleet/a");
  equal(outlook.missed("fleet/a", 4), 4);
});

Deno.test("Outlook: forgets when a node was first missing after an hour without a read", () => {
  const outlook = new Outlook();
  outlook.missed("fleet/a", 0);
  outlook.missed("fleet/b", 61 * minute);
  equal(outlook.missed("fleet/a", 62 * minute), 62 * minute);
});

Deno.test("Outlook: does not wait for a clock that was set back before it makes machines due for repair", () => {
  const outlook = lookedEachMinute(180 * minute, 181 * minute);
  lookedEachMinute(0, 2 * minute, outlook);
  equal(dueAfter(outlook, minute), minute);
});

Deno.test("Outlook: counts a missing node from the first read after the clock was set back", () => {
  const outlook = new Outlook();
  outlook.missed("fleet/a", 180 * minute);
  deepEqual([outlook.missed("fleet/a", minute), outlook.missed("fleet/a", 2 * minute)], [minute, minute]);
});

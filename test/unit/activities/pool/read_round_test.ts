import { deepEqual, equal } from "node:assert/strict";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import { readRound } from "../../../../activities/pool/read_round.ts";
import type { PoolQuestion } from "../../../../workflows/contracts/mod.ts";
import { defaultRules } from "../../../../activities/policy/default_rules.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machine, machineDeployment, machineSet, pool } from "../../../support/machine_objects.ts";

function readerWith(): { kube: FakeKube; reader: Parameters<typeof readRound>[0] } {
  const kube = new FakeKube();
  kube.put("machinedeployments", machineDeployment());
  kube.put("machinesets", machineSet());
  kube.put("machines", machine("a"));
  return { kube, reader: { kube: kube.client, profileNamespace: "kube-system" } };
}

function about(templateHash: string): PoolQuestion {
  return { pool, templateHash, unproven: [], repair: defaultRules.repair, limit: 20 };
}

Deno.test("readRound gives what is desired and the machines at once", async () => {
  const { reader } = readerWith();
  const { seen, pool: found } = await readRound(reader, about("hash-1"));
  deepEqual(seen, await readDesired(reader, pool));
  equal(found?.counts.machines, 1);
});

Deno.test("readRound reads no machines where another template is desired than was asked about, or the pool is gone", async () => {
  const { kube, reader } = readerWith();
  equal((await readRound(reader, about("hash-0"))).pool, null);
  kube.remove("machinedeployments", "pool", "fleet");
  deepEqual(await readRound(reader, about("hash-1")), { seen: { state: "Gone" }, pool: null });
});

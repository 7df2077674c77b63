import assert from "node:assert/strict";
import { PoolRecord } from "../../../../deploy/local/observer/pool_record.ts";

const rules = { replicas: 2, allowedMachines: 3, secrets: ["s1", "s2"] };

function facts(names: string[], fact = true): Map<string, boolean> {
  return new Map(names.map((name) => [name, fact]));
}

function convergedRecord(): PoolRecord {
  const record = new PoolRecord(rules, () => "2026-01-01T00:00:00Z");
  record.see("instances", facts(["a", "b"]));
  record.see("machines", facts(["a", "b"]));
  record.see("nodes", facts(["a", "b"]));
  record.see("secrets", facts(["s1", "s2"]));
  return record;
}

Deno.test("PoolRecord: records minimum and maximum during a successful replacement", () => {
  const record = convergedRecord();
  record.arm();
  record.see("instances", facts(["a", "b", "c"]));
  record.see("nodes", facts(["a", "b", "c"]));
  record.see("instances", facts(["b", "c"]));
  record.see("nodes", facts(["b", "c"]));
  const report = record.report([], 0);
  assert.deepEqual(report.violations, []);
  assert.deepEqual(report.readyNodes, { min: 2, wanted: 2, ok: true });
  assert.deepEqual(report.machines, { max: 3, objects: 2, allowed: 3, ok: true });
  assert.equal(report.events, 4);
  assert.equal(report.ok, true);
});

Deno.test("PoolRecord: before arm() it records no violations, and its report is not successful", () => {
  const record = new PoolRecord(rules);
  record.see("nodes", facts([]));
  const report = record.report([], 0);
  assert.deepEqual(report.violations, []);
  assert.equal(report.ok, false);
  assert.equal(report.readyNodes.ok, false);
});

Deno.test("PoolRecord: reports at arm() the nodes and Secrets that are missing already", () => {
  const record = new PoolRecord(rules);
  record.arm();
  assert.deepEqual(record.report([], 0).violations.map(({ property }) => property), ["readyNodes", "secrets"]);
});

Deno.test("PoolRecord: reports only once, with time and names, that a node is no longer Ready, however many events follow", () => {
  const record = convergedRecord();
  record.arm();
  record.see("nodes", new Map([["a", true], ["b", false]]));
  record.see("nodes", new Map([["a", true], ["b", false]]));
  const report = record.report([], 0);
  assert.deepEqual(report.violations, [{
    at: "2026-01-01T00:00:00Z",
    property: "readyNodes",
    message: "1 nodes were Ready, 2 are wanted",
    names: ["a"],
  }]);
  assert.equal(report.readyNodes.min, 1);
  assert.equal(report.ok, false);
});

Deno.test("PoolRecord: does not count a Ready node whose machine is deleted", () => {
  const record = convergedRecord();
  record.arm();
  record.see("instances", facts(["a"]));
  assert.equal(record.report([], 0).readyNodes.min, 1);
});

Deno.test("PoolRecord: limits the number of instances, and of Machine objects that are not pending", () => {
  const record = convergedRecord();
  record.arm();
  record.see("machines", new Map([...facts(["a", "b", "c"]), ["d", false]]));
  assert.equal(record.report([], 0).machines.ok, true);
  record.see("machines", facts(["a", "b", "c", "d"]));
  const { machines, violations } = record.report([], 0);
  assert.deepEqual(machines, { max: 2, objects: 4, allowed: 3, ok: false });
  assert.equal(violations[0]?.message, "There were 4 Machine objects, 3 are allowed");
  record.see("instances", facts(["a", "b", "c", "d"]));
  assert.equal(record.report([], 0).machines.max, 4);
});

Deno.test("PoolRecord: reports each time that a Secret is missing, or has no data", () => {
  const record = convergedRecord();
  record.arm();
  record.see("secrets", facts(["s1"]));
  record.see("secrets", facts(["s1", "s2"]));
  record.see("secrets", new Map([["s1", false], ["s2", true]]));
  const { secrets, violations } = record.report([], 0);
  assert.deepEqual(violations.map(({ message }) => message), ['Secret "s2" was missing', 'Secret "s1" had no data']);
  assert.deepEqual(secrets, { watched: ["s1", "s2"], missing: 2, ok: false });
});

Deno.test("PoolRecord: its report is not successful after a gap in a watch, even without violations", () => {
  const record = convergedRecord();
  record.arm();
  assert.equal(record.report([], 3).ok, true);
  assert.equal(record.report(["nobody looked"], 0).ok, false);
});

import { equal, match, notEqual } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { bootstrapGroup, groupsOf, isPoolGroup, poolGroupOf } from "../../../../activities/config/token_group.ts";

const pools = [{ namespace: "ns", name: "a.b" }, { namespace: "ns", name: "a-b" }, { namespace: "n", name: "s-a" }];
const policy = new URL("../../../../deploy/kubernetes/admission/limit_secrets.yaml", import.meta.url);

Deno.test("poolGroupOf: returns a valid group for each pool", () => {
  for (const pool of pools) {
    match(poolGroupOf(pool), /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/);
    equal(isPoolGroup(poolGroupOf(pool)), true);
  }
  equal(new Set(pools.map(poolGroupOf)).size, pools.length);
  equal(isPoolGroup(bootstrapGroup), false);
});

Deno.test("groupsOf: returns only the group that machine-controller uses when the group of the pool is not requested", () => {
  for (const pool of pools) equal(groupsOf(pool, { tellsPool: false }), bootstrapGroup);
});

Deno.test("limit_secrets.yaml: accepts a token with the default group and a group of a pool, and has no room for a third group", () => {
  const text = readFileSync(policy, "utf8");
  const [, first = "", second = ""] = /startsWith\('([^']*)' \+\s*'([^']*)'\)/.exec(text) ?? [];
  const size = Number(/groups\.size\(\) == (\d+)/.exec(text)?.[1]);
  for (const pool of pools) {
    const groups = Buffer.from(groupsOf(pool, { tellsPool: true })).toString("base64");
    equal(groups.startsWith(first + second) && groups.length === size, true);
  }
  const room = Buffer.from("A".repeat(size - (first + second).length), "base64").length;
  equal(room < ",system:bootstrappers:x".length, true);
  notEqual(first + second, "");
});

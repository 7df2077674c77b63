import { deepEqual } from "node:assert/strict";
import { autoscalerCommand } from "../../../../activities/autoscaler/keep_autoscaler.ts";
import { AutoscalingStrategy, ScalingGroup } from "../../../../activities/kube/update_kinds.ts";

const metadata = { name: "g", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };
const workers = { autoscaling: true, min: 1, max: 10, autoscalerGroupName: "worker-group", role: "Worker" };

function commandOf(args: Record<string, string>, ...groups: object[]): ReturnType<typeof autoscalerCommand> {
  const strategy = AutoscalingStrategy.parse({ metadata, spec: { autoscalerExtraArgs: args } });
  return autoscalerCommand(strategy, { groups: groups.map((spec) => ScalingGroup.parse({ metadata, spec })) });
}

const binary = "./cluster-autoscaler";
const cases: [string, Record<string, string>, object[], string[]][] = [
  ["AS4 sorts its arguments after the binary", { foo: "bar", baz: "qux" }, [], [binary, "--baz=qux", "--foo=bar"]],
  ["AS5 names a group that may be scaled", { foo: "bar" }, [workers], [
    binary,
    "--foo=bar",
    "--nodes=1:10:worker-group",
  ]],
  ["AS6 leaves out a group that may not be scaled", {}, [{ ...workers, autoscaling: false }], [binary]],
  ["AS7 leaves out control planes", {}, [{ ...workers, role: "ControlPlane" }], [binary]],
  ["AS7 leaves out control planes in any spelling", {}, [{ ...workers, role: "control-plane" }], [binary]],
  ["names a group once when two objects name it", {}, [workers, workers], [binary, "--nodes=1:10:worker-group"]],
];

for (const [what, args, groups, command] of cases) {
  Deno.test(`autoscalerCommand: ${what}`, () => deepEqual(commandOf(args, ...groups), { command, leftOut: [] }));
}

Deno.test("autoscalerCommand: leaves out invalid flags and unusable groups, and reports them", () => {
  const bad = [{ ...workers, min: 5, max: 2 }, { ...workers, autoscalerGroupName: "" }];
  deepEqual(commandOf({ "-x": "1", "a b": "1", line: "a\nb", fine: "a b" }, ...bad), {
    command: [binary, "--fine=a b"],
    leftOut: [
      'argument "-x": its name or value is invalid in a flag',
      'argument "a b": its name or value is invalid in a flag',
      'argument "line": its name or value is invalid in a flag',
      'group "g": its size range 5 to 2 is invalid',
      'group "g": its autoscalerGroupName is empty',
    ],
  });
});

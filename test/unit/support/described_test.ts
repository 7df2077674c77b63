/** Requests and answers are validated by the descriptions that the vendors publish. */
import { deepEqual } from "node:assert/strict";
import { answerXml, outputIn } from "../../support/clouds/aws_xml.ts";
import * as aws from "../../support/clouds/described/aws.ts";
import * as azure from "../../support/clouds/described/azure.ts";
import * as google from "../../support/clouds/described/google.ts";

function form(fields: Record<string, string>, version = "2011-01-01"): URLSearchParams {
  return new URLSearchParams({ Version: version, ...fields });
}

const launch = { Action: "LaunchInstances", AutoScalingGroupName: "g", RequestedCapacity: "1", ClientToken: "t" };

const asked: [string, aws.Api, URLSearchParams, string[]][] = [
  ["a launch in one zone", "autoscaling", form({ ...launch, "AvailabilityZones.member.1": "a" }), []],
  [
    "a launch in two zones",
    "autoscaling",
    form({
      ...launch,
      ...{ "AvailabilityZones.member.1": "a", "AvailabilityZones.member.2": "b" },
    }),
    ["LaunchInstances.AvailabilityZones has 2, more than 1"],
  ],
  ["a field of another action", "autoscaling", form({ ...launch, InstanceId: "i" }), [
    'LaunchInstances has no field "InstanceId"',
  ]],
  ["no token", "autoscaling", form({ Action: "LaunchInstances", AutoScalingGroupName: "g", RequestedCapacity: "1" }), [
    'LaunchInstances lacks "ClientToken"',
  ]],
  ["a text for a number", "autoscaling", form({ ...launch, RequestedCapacity: "one" }), [
    'LaunchInstances.RequestedCapacity is "one" instead of a number',
  ]],
  ["another version", "autoscaling", form(launch, "2010-01-01"), ['LaunchInstances has version "2010-01-01"']],
  ["an action of the other API", "ec2", form(launch, "2016-11-15"), ['no action "LaunchInstances" in ec2']],
  [
    "lists in the format of EC2",
    "ec2",
    form({ Action: "DescribeInstances", "Filter.1.Name": "tag:a", "Filter.1.Value.1": "b" }, "2016-11-15"),
    [],
  ],
  ["a list that is counted from 2", "ec2", form({ Action: "DescribeInstances", "InstanceId.2": "i-1" }, "2016-11-15"), [
    "DescribeInstances.InstanceId is not counted from 1",
  ]],
];

for (const [what, api, fields, faults] of asked) {
  Deno.test(`fault G14: AWS's description validates a request with ${what}`, () => {
    deepEqual(aws.faultsOfRequest(api, fields), faults);
  });
}

Deno.test("fault G14: AWS's description validates an answer by its required fields, names and types", () => {
  const activity = { ActivityId: "a", AutoScalingGroupName: "g", Cause: "c", StartTime: "2026-01-01T00:00:00Z" };
  const action = "TerminateInstanceInAutoScalingGroup";
  const judged = (more: object): string[] =>
    aws.faultsOfAnswer("autoscaling", action, { Activity: { ...activity, ...more } });
  deepEqual(judged({ StatusCode: "InProgress" }), []);
  deepEqual(judged({ StatusCode: "Going" }).length, 1);
  deepEqual(judged({}), [`${action}.Activity lacks "StatusCode"`]);
  deepEqual(judged({ StatusCode: "InProgress", Speed: 1 }), [`${action}.Activity has no field "Speed"`]);
});

Deno.test("fault G14: AWS's description validates answers in their wire format", () => {
  const reservation = {
    reservationId: "r",
    instancesSet: [{ instanceId: "i-1", tagSet: [{ key: "a", value: "<b>" }] }],
  };
  const answers: [aws.Api, string, object][] = [
    ["ec2", "DescribeInstances", { reservationSet: [reservation] }],
    ["autoscaling", "DescribeAutoScalingGroups", { AutoScalingGroups: [], NextToken: "n" }],
  ];
  for (const [api, action, answer] of answers) {
    const read = outputIn(api, `<?xml version="1.0"?>\n${answerXml(api, action, answer)}`);
    deepEqual(read, api === "ec2" ? answer : { ...answer, AutoScalingGroups: "" });
    deepEqual(aws.faultsOfAnswer(api, action, read), []);
  }
  const wrong = answerXml("ec2", "DescribeInstances", { reservationSet: [{ ...reservation, size: 1 }] });
  deepEqual(aws.faultsOfAnswer("ec2", "DescribeInstances", outputIn("ec2", wrong)), [
    'DescribeInstances.reservationSet[0] has no field "size"',
  ]);
});

const root = "http://127.0.0.1/compute/v1/projects/p/zones/a/instanceGroupManagers/g";

Deno.test("fault G14: Google's description validates a request by its path, parameters, fields and output-only fields", () => {
  const patched = (body: object, query = ""): string[] =>
    google.faultsOfRequest({ method: "PATCH", url: `${root}${query}`, text: JSON.stringify(body) });
  deepEqual(patched({ fingerprint: "f", versions: [{ instanceTemplate: "t" }] }), []);
  deepEqual(patched({ selfLink: "s" }), ["compute.instanceGroupManagers.patch.selfLink is output only"]);
  deepEqual(patched({ size: 1 }), ['compute.instanceGroupManagers.patch has no field "size"']);
  deepEqual(patched({ targetSize: "1" }), [
    'compute.instanceGroupManagers.patch.targetSize is "1" instead of type integer',
  ]);
  deepEqual(patched({}, "?force=true"), ['compute.instanceGroupManagers.patch has no parameter "force"']);
  deepEqual(google.faultsOfRequest({ method: "PUT", url: root, text: "" }).length, 1);
});

Deno.test("fault G14: Google's description validates an answer by its names, types and values", () => {
  const at = "compute.instanceGroupManagers.listManagedInstances.managedInstances[0]";
  const judged = (instance: object): string[] =>
    google.faultsOfAnswer({ method: "POST", url: `${root}/listManagedInstances` }, { managedInstances: [instance] });
  deepEqual(judged({ id: "1", currentAction: "NONE" }), []);
  deepEqual(judged({ id: 1 }), [`${at}.id is 1 instead of a text`]);
  deepEqual(judged({ currentAction: "IDLE" }).length, 1);
  deepEqual(judged({ speed: 1 }), [`${at} has no field "speed"`]);
});

const set = "http://127.0.0.1/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachineScaleSets/v";
const version = "api-version=2026-04-01";

Deno.test("fault G14: Azure's description validates a request by its path, parameters, fields and read-only fields", () => {
  const patched = (body: object, query = version): string[] =>
    azure.faultsOfRequest({ method: "PATCH", url: `${set}?${query}`, text: JSON.stringify(body) });
  const at = "VirtualMachineScaleSets.update";
  deepEqual(patched({ sku: { name: "n", capacity: 1 }, tags: { a: "b" } }), []);
  deepEqual(patched({ etag: "e" }), [`${at} has no field "etag"`]);
  deepEqual(patched({ properties: { provisioningState: "Failed" } }), [
    `${at}.properties has no field "provisioningState"`,
  ]);
  const imageReference = { id: "i", exactVersion: "1" };
  deepEqual(patched({ properties: { virtualMachineProfile: { storageProfile: { imageReference } } } }), [
    `${at}.properties.virtualMachineProfile.storageProfile.imageReference.exactVersion is read-only`,
  ]);
  deepEqual(patched({ sku: { capacity: "1" } }), [`${at}.sku.capacity is "1" instead of type integer`]);
  deepEqual(patched({ tags: { a: 1 } }), [`${at}.tags.a is 1 instead of type string`]);
  deepEqual(patched({ sku: null }), [`${at}.sku is null`]);
  deepEqual(patched({ properties: { upgradePolicy: { mode: "Slow" } } }).length, 1);
  deepEqual(patched({}, `${version}&force=true`), [`${at} has no parameter "force"`]);
  deepEqual(patched({}, "api-version=2020-01-01"), [`${at} has version "2020-01-01"`]);
  deepEqual(azure.faultsOfRequest({ method: "PUT", url: `${set}?${version}`, text: "{}" }).length, 1);
  const deleted = { method: "POST", url: `${set}/delete?${version}`, text: "{}" };
  deepEqual(azure.faultsOfRequest(deleted), ['VirtualMachineScaleSets.delete_instances lacks "instanceIds"']);
});

Deno.test("fault G14: Azure's description validates an answer by its status, names, types and required fields", () => {
  const listed = (vm: object, status = 200): string[] =>
    azure.faultsOfAnswer({ method: "GET", url: `${set}/virtualMachines?${version}` }, {
      status,
      body: { value: [vm] },
    });
  const at = "VirtualMachineScaleSetVMs.list";
  deepEqual(listed({ location: "l", instanceId: "1", properties: { timeCreated: "2026-01-01T00:00:00Z" } }), []);
  deepEqual(listed({ location: "l" }, 202), [`${at} with status 202`]);
  deepEqual(listed({ instanceId: 1 }), [
    ...[`${at}.value[0] lacks "location"`, `${at}.value[0].instanceId is 1 instead of type string`],
  ]);
  deepEqual(listed({ location: "l", speed: 1 }), [`${at}.value[0] has no field "speed"`]);
  const statuses = [{ level: "Loud" }];
  deepEqual(listed({ location: "l", properties: { instanceView: { statuses } } }), [
    `${at}.value[0].properties.instanceView.statuses[0].level is "Loud" instead of one of Info, Warning, Error`,
  ]);
});

/**
 * Tests that the driver of AWS keeps the promises that every cloud driver must keep, when it calls moto's server, which
 * implements the published descriptions of AWS's API.
 */
import { deepEqual, equal } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { openAws } from "../../activities/clouds/aws.ts";
import { failureXml, outputIn } from "../support/clouds/aws_xml.ts";
import { type Api, faultsOfAnswer, faultsOfRequest } from "../support/clouds/described/aws.ts";
import { FaultProxy } from "../support/clouds/fault_proxy.ts";
import { Moto, motoPython } from "../support/clouds/moto.ts";
import { clusterTag, groupName, MotoGround } from "../support/clouds/moto_ground.ts";
import { type CloudConditions, type CloudUnderTest, conforms } from "../support/driver_conformance.ts";
import { withWorld } from "../integration/world.ts";

// The AWS SDK reads credentials from the environment first; these are fake.
Deno.env.set("AWS_ACCESS_KEY_ID", "test");
Deno.env.set("AWS_SECRET_ACCESS_KEY", "test");

const hourSeconds = 3_600;
const python = await motoPython();
const moto = python === undefined ? undefined : await Moto.start(python);

function apiOf(request: Request): Api {
  return request.headers.get("authorization")?.includes("/ec2/") ? "ec2" : "autoscaling";
}

/** Returns an error response in the format of the API that was called. */
function failure(fault: "Throttled" | "Broken", request: Request): Response {
  const api = apiOf(request);
  const code = fault === "Broken" ? "InternalFailure" : api === "ec2" ? "RequestLimitExceeded" : "Throttling";
  const status = fault === "Broken" ? 500 : api === "ec2" ? 503 : 400;
  return new Response(failureXml(api, code, "not now"), { status, headers: { connection: "close" } });
}

async function open({ url }: Moto, { hidesNew, capacity }: CloudConditions = {}): Promise<CloudUnderTest> {
  const ground = new MotoGround(url);
  await ground.make(capacity === undefined ? {} : { "test/capacity": capacity });
  let hiddenSeconds = 0;
  const hide = (seconds: number): Promise<void> => ground.set({ "test/lag-seconds": hiddenSeconds = seconds });
  const proxy = new FaultProxy(url, failure);
  const wrong: string[] = [];
  proxy.onBody = (body, request) => {
    wrong.push(...faultsOfRequest(apiOf(request), new URLSearchParams(body)));
  };
  proxy.onAnswer = (answer, body, request) => {
    const [api, action] = [apiOf(request), new URLSearchParams(body).get("Action") ?? ""];
    wrong.push(...faultsOfAnswer(api, action, outputIn(api, answer)).map((fault) => `moto answers ${fault}`));
  };
  const [, second = "", third = ""] = ground.images;
  const driver = await openAws({ region: "eu-west-1", clusterTag, endpoint: proxy.url });
  if (hidesNew) await hide(hourSeconds);
  return {
    ...{ driver, group: groupName, images: [second, third], calls: () => proxy.calls },
    befall: (fault, after) => {
      const at = proxy.calls + 1 + after;
      proxy.fault = (nth) => nth === at ? fault : undefined;
    },
    truth: () => ground.truth(hiddenSeconds),
    show: () => hide(0),
    settle: () => ground.settle(),
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
      deepEqual(wrong, []);
    },
  };
}

/** Expects Ostler's worker, which runs as a process with its normal permissions, to find the group. */
async function discovers({ url }: Moto): Promise<void> {
  await new MotoGround(url).make({});
  const keys = { AWS_ENDPOINT_URL: url, AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
  const place = { OSTLER_CLOUD: "aws", OSTLER_CLOUD_PLACE: "eu-west-1", OSTLER_CLOUD_TAG: clusterTag };
  await withWorld({ settings: { ...place, ...keys } }, async (world) => {
    const [group] = await world.until("the group to be found", async () => {
      const found = await world.list<{ spec: object }>("/apis/update.edgeless.systems/v1alpha1/scalinggroups");
      return found.length > 0 && found;
    });
    deepEqual(group?.spec, {
      ...{ autoscalerGroupName: groupName, groupId: groupName, nodeGroupName: "workers", role: "Worker" },
      ...{ autoscaling: false, max: 10, min: 1, nodeImage: "constellation-version" },
    });
  });
}

/**
 * Expects `aws.json`, with which tests validate their double of AWS, to equal the extract from the botocore that moto
 * uses.
 */
async function describes(program: string): Promise<void> {
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout } = await new Deno.Command(program, { args, stderr: "inherit" }).output();
    equal(code, 0);
    return new TextDecoder().decode(stdout);
  };
  const folder = "import botocore, os; print(os.path.join(os.path.dirname(botocore.__file__), 'data'))";
  const data = (await run("-c", folder)).trim();
  const at = (name: string): string => fileURLToPath(new URL(`../support/clouds/described/${name}`, import.meta.url));
  equal(await run(at("extract.py"), data, "-"), await Deno.readTextFile(at("aws.json")));
}

if (moto && python !== undefined) {
  Deno.test("fault G14: openAws over moto: the recorded description of AWS's API is equal to that of botocore", () =>
    describes(python));
  conforms("openAws over moto", (conditions) => open(moto, conditions));
  Deno.test("aws worker: creates a ScalingGroup for an Auto Scaling group with the cluster's tag", () =>
    discovers(moto));
} else {
  // moto is a Python program; in CI and in the campaign this skip counts as a failure.
  const name = "openAws over moto (skipped: no python3 is on the PATH, or no folder to install moto into is known)";
  Deno.test({ name, ignore: true, fn: () => {} });
}

Deno.test.afterAll(async () => await moto?.[Symbol.asyncDispose]());

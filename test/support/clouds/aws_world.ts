/** A simulated cloud behind the wire format of AWS, with its driver. */
import { openAws } from "../../../activities/clouds/aws.ts";
import type { Driver } from "../../../activities/clouds/driver.ts";
import { GroupCloud, type GroupSpec } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import type { AwsConditions } from "./aws_ground.ts";
import { AwsStub } from "./aws_stub.ts";

export const clusterTag = "cluster-1";
export const spec: GroupSpec = {
  ...{ id: "Workers-asg", name: "workers", autoscalerName: "Workers-asg", role: "Worker" },
  ...{ min: 1, max: 4, size: 2, zones: ["eu-west-1a", "eu-west-1b"] },
  template: { image: "image-1", machineType: "m5.large", userData: "c2VjcmV0" },
};

// The AWS SDK reads credentials from the environment first; these are fake.
Deno.env.set("AWS_ACCESS_KEY_ID", "test");
Deno.env.set("AWS_SECRET_ACCESS_KEY", "test");

export interface AwsWorld extends AsyncDisposable {
  cloud: GroupCloud;
  stub: AwsStub;
  driver: Promise<Driver>;
}

export function worldOf(
  { capacity, groups = [spec], ...conditions }: Partial<AwsConditions> & {
    capacity?: number;
    groups?: GroupSpec[];
  } = {},
): AwsWorld {
  const cloud = new GroupCloud(capacity === undefined ? {} : { capacity });
  for (const group of groups) cloud.create(group);
  // Existing instances are old enough to be visible to all clients.
  for (const instance of cloud.instances()) instance.since = new Date(0).toISOString();
  const stub = new AwsStub(cloud, { clusterTag, ...conditions });
  const driver = openAws({ region: "eu-west-1", clusterTag, endpoint: stub.url });
  return { cloud, stub, driver, [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose]() };
}

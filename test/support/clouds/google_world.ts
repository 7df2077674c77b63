/**
 * Google's API over a simulated cloud with the groups of one cluster, and a driver for it; a test changes the cloud and
 * the API's responses.
 */
import type { Driver } from "../../../activities/clouds/driver.ts";
import { openGoogle } from "../../../activities/clouds/google.ts";
import { GroupCloud, type GroupSpec } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import { type GoogleConditions, project } from "./google_ground.ts";
import { GoogleStub } from "./google_stub.ts";

export const clusterTag = "cluster-1";
export const [image1, image2, image3] = [1, 2, 3].map((nth) => `projects/images/global/images/image-${nth}`) as [
  string,
  string,
  string,
];
/** A zonal group. */
export const spec: GroupSpec = {
  id: `projects/${project}/zones/europe-west1-b/instanceGroupManagers/workers-mig`,
  ...{ name: "workers", autoscalerName: "", role: "Worker", min: 1, max: 4, size: 2, zones: ["europe-west1-b"] },
  template: { image: image1, machineType: "n2d-standard-4", userData: "c2VjcmV0" },
};
/** A regional group, in two zones. */
export const regional: GroupSpec = {
  ...{ ...spec, id: `projects/${project}/regions/europe-west1/instanceGroupManagers/spread`, name: "spread" },
  zones: ["europe-west1-b", "europe-west1-c"],
};

export interface World extends AsyncDisposable {
  cloud: GroupCloud;
  stub: GoogleStub;
  driver: Promise<Driver>;
}

/** Opens Google's API with these groups, and a driver for it; existing instances are visible to all clients. */
export function open(
  { capacity, images, inputOnly, groups = [spec], ...conditions }: Partial<GoogleConditions> & {
    capacity?: number;
    inputOnly?: string;
    images?: string[];
    groups?: GroupSpec[];
  } = {},
): World {
  const cloud = new GroupCloud({ ...(capacity === undefined ? {} : { capacity }), ...(images ? { images } : {}) });
  for (const group of groups) cloud.create(group);
  for (const instance of cloud.instances()) instance.since = new Date(0).toISOString();
  const stub = new GoogleStub(cloud, { clusterTag, ...conditions });
  const restated = inputOnly === undefined ? {} : { inputOnly };
  const driver = openGoogle({ project, clusterTag, endpoint: stub.url, ...restated });
  return { cloud, stub, driver, [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose]() };
}

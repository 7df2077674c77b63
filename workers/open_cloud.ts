/**
 * Opens the driver of the configured cloud. The library of the cloud is loaded when the first scaling group needs it.
 */
import type { Driver } from "../activities/clouds/driver.ts";
import { inputs, restatementIn } from "../activities/clouds/google/restatement.ts";

/** The function that opens each cloud. */
const openers = {
  aws: async (region: string, clusterTag: string): Promise<Driver> =>
    (await import("../activities/clouds/aws.ts")).openAws({ region, clusterTag }),
  azure: async (place: string, clusterTag: string): Promise<Driver> => {
    const [subscription = "", resourceGroup = ""] = place.split("/");
    // Azure's own identity library reads its authority host from this variable too.
    const authority = process.env["AZURE_AUTHORITY_HOST"] ?? "";
    const { openAzure } = await import("../activities/clouds/azure.ts");
    return await openAzure({ subscription, resourceGroup, clusterTag, authority });
  },
  google: async (project: string, clusterTag: string, inputOnly: string): Promise<Driver> =>
    (await import("../activities/clouds/google.ts")).openGoogle({ project, clusterTag, inputOnly }),
  simulated: async (url: string): Promise<Driver> =>
    (await import("../activities/clouds/simulated.ts")).simulatedCloud({ url }),
};

type Cloud = keyof typeof openers;

/** The settings of a cloud. */
interface CloudPlace {
  cloud: Cloud | "";
  cloudPlace: string;
  cloudTag: string;
  /**
   * Values of the input-only fields of Google's templates, as JSON, for templates without metadata item
   * ostler-input-only; "" for none.
   */
  cloudInputOnly: string;
}

/** Clouds with a driver. */
export const clouds = Object.keys(openers) as Cloud[];

/** Returns a message for each invalid setting of a cloud. */
export function cloudFaults({ cloud, cloudPlace, cloudTag, cloudInputOnly }: CloudPlace): string[] {
  if (cloud === "") return [];
  return [
    ...(cloudPlace === "" ? [`cloud-place: is required for ${cloud}`] : []),
    ...(cloud === "azure" && !/^([^/]+\/[^/]+)?$/.test(cloudPlace)
      ? ["cloud-place: must be subscription/resource group for azure"]
      : []),
    ...(cloudInputOnly !== "" && !restatementIn(cloudInputOnly)
      ? [`cloud-input-only: must be a JSON object with values for ${inputs.join(", ")}`]
      : []),
    ...(cloud !== "simulated" && cloudTag === ""
      ? ["cloud-tag: is required; set the value of the constellation-uid tag of this cluster's groups"]
      : []),
  ];
}

/** Returns a function that opens the configured cloud; undefined without a cloud. */
export function cloudOpener(
  { cloud, cloudPlace, cloudTag, cloudInputOnly }: CloudPlace,
): (() => Promise<Driver>) | undefined {
  return cloud === "" ? undefined : () => openers[cloud](cloudPlace, cloudTag, cloudInputOnly);
}

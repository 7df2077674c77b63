/** The driver of the cloud that a process was told of. Its library is loaded when the first scaling group asks for it. */
import type { Driver } from "../activities/clouds/driver.ts";

/** Of each cloud, how it is opened where it is told to be. */
const openers = {
  aws: async (region: string, clusterTag: string): Promise<Driver> =>
    (await import("../activities/clouds/aws.ts")).openAws({ region, clusterTag }),
  azure: async (place: string, clusterTag: string): Promise<Driver> => {
    const [subscription = "", resourceGroup = ""] = place.split("/");
    // As its library is told who gives out credentials.
    const authority = process.env["AZURE_AUTHORITY_HOST"] ?? "";
    const { openAzure } = await import("../activities/clouds/azure.ts");
    return await openAzure({ subscription, resourceGroup, clusterTag, authority });
  },
  google: async (project: string, clusterTag: string): Promise<Driver> =>
    (await import("../activities/clouds/google.ts")).openGoogle({ project, clusterTag }),
  simulated: async (url: string): Promise<Driver> =>
    (await import("../activities/clouds/simulated.ts")).simulatedCloud({ url }),
};

type Cloud = keyof typeof openers;

/** What a process is told of its cloud. */
export interface CloudPlace {
  cloud: Cloud | "";
  cloudPlace: string;
  cloudTag: string;
}

/** Clouds that there are drivers for. */
export const clouds = Object.keys(openers) as Cloud[];

/** What is wrong with how a cloud is told, a line each. */
export function cloudFaults({ cloud, cloudPlace, cloudTag }: CloudPlace): string[] {
  if (cloud === "") return [];
  return [
    ...(cloudPlace === "" ? [`cloud-place: must say where in ${cloud}`] : []),
    ...(cloud === "azure" && !/^([^/]+\/[^/]+)?$/.test(cloudPlace)
      ? ["cloud-place: must be subscription/resource group in azure"]
      : []),
    ...(cloud !== "simulated" && cloudTag === "" ? ["cloud-tag: must say what groups of this cluster bear"] : []),
  ];
}

/** Undefined where none is set. */
export function cloudOpener({ cloud, cloudPlace, cloudTag }: CloudPlace): (() => Promise<Driver>) | undefined {
  return cloud === "" ? undefined : () => openers[cloud](cloudPlace, cloudTag);
}

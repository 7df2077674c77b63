/** The driver of the cloud that a process was told of. Its library is loaded when the first scaling group asks for it. */
import type { Driver } from "../activities/clouds/driver.ts";
import type { Config } from "./config.ts";

/** Undefined where none is set. */
export function cloudOpener(
  { cloud, cloudPlace }: Pick<Config, "cloud" | "cloudPlace">,
): (() => Promise<Driver>) | undefined {
  if (cloud !== "simulated") return undefined;
  return async () => (await import("../activities/clouds/simulated.ts")).simulatedCloud({ url: cloudPlace });
}

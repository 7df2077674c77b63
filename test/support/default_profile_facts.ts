/** Facts to render Ostler's own profiles from: with as few settings as possible, and with as many as possible. */
import type { OsProfile, RenderFacts } from "../../profiles/mod.ts";
import { type FactOverrides, renderFacts, testCa } from "./render_facts.ts";

export const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGolden0000000000000000000000000000000000000 ops@example";

/**
 * Settings for a machine behind a proxy and without access to the internet, which downloads everything from
 * `mirror.test`.
 */
export const airGap: FactOverrides = {
  deployment: { annotations: { "parameter.ostler.dev/packageMirror": "https://mirror.test" } },
  settings: {
    nodeHttpProxy: "http://user:p%40ss@proxy.test:3128",
    nodeNoProxy: "10.0.0.0/8,.test,2001:db8::/32",
    hostCaBundle: testCa,
    binariesUrl: "https://mirror.test/binaries",
    nodeContainerdRegistryMirrors: ["docker.io=https://mirror.test"],
    pauseImage: "mirror.test/pause:3.10",
  },
};

/** Facts that fit a profile. */
export function factsFor(profile: OsProfile, cloudProvider: string, more: FactOverrides = {}): RenderFacts {
  const { osName, provisioningUtility, parameters = {} } = profile;
  const annotations = Object.entries(more.deployment?.annotations ?? {}).filter(([key]) => {
    const [prefix, name = ""] = key.split("/");
    return prefix !== "parameter.ostler.dev" || name in parameters;
  });
  return renderFacts({
    ...more,
    deployment: { ...more.deployment, annotations: Object.fromEntries(annotations) },
    provider: {
      cloudProvider,
      operatingSystem: osName,
      sshPublicKeys: [sshKey],
      ...more.provider,
      operatingSystemSpec: {
        ...(osName === "flatcar" ? { provisioningUtility } : {}),
        ...more.provider?.operatingSystemSpec ?? {},
      },
    },
  });
}

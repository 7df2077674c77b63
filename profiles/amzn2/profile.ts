import { failCgroupV1 } from "../node/parameters.ts";
import { rpmProfile } from "../rpm/profile.ts";
import type { OsProfile } from "../schema.ts";

/**
 * Returns the profile of Amazon Linux 2, whose support ended on 2026-06-30; kept so that pools can migrate one by one.
 */
export function amazonLinux2Profile(): Promise<OsProfile> {
  const description =
    `${failCgroupV1.description}; Amazon Linux 2, whose support ended on 2026-06-30, has only cgroup v1, which Kubernetes stops supporting`;
  return rpmProfile({
    osName: "amzn2",
    osVersion: "2.0",
    providers: ["aws"],
    parameters: { failCgroupV1: { ...failCgroupV1, description, default: false } },
    snippets: { prepare: "amzn2/prepare", prepare_rpm: "rpm/prepare" },
  });
}

import type { Parameter } from "../parameter.ts";

/** The kubelet's own default for systems that have cgroup v2, as all but one of ours do. */
export const failCgroupV1: Parameter = {
  type: "boolean",
  description: "Whether the kubelet refuses to start on a machine that has only cgroup v1",
  default: true,
};

/** Base URL of a mirror; `folders` are those it must have. */
export function packageMirror(folders: string): Parameter {
  return {
    type: "string",
    description: `Base URL of a mirror of the system's packages, with ${folders}; empty leaves the image's own sources`,
    default: "",
    pattern: "(https?://[A-Za-z0-9._~:/-]*[A-Za-z0-9])?",
  };
}

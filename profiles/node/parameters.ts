import type { Parameter } from "../parameter.ts";

/**
 * The parameter for the kubelet's setting failCgroupV1. Its default is that of the kubelet, because all systems of
 * Ostler's profiles except Amazon Linux 2 use cgroup v2.
 */
export const failCgroupV1: Parameter = {
  type: "boolean",
  description: "Whether the kubelet refuses to start on a machine that has only cgroup v1",
  default: true,
};

/**
 * Returns the parameter for the base URL of a package mirror; `folders` names the folders that the mirror must have.
 */
export function packageMirror(folders: string): Parameter {
  return {
    type: "string",
    description:
      `Base URL of a mirror of the system's packages, with ${folders}; if empty, machines keep the package sources of their image`,
    default: "",
    pattern: "(https?://[A-Za-z0-9._~:/-]*[A-Za-z0-9])?",
  };
}

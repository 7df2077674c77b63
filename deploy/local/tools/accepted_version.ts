import type { ToolName } from "./tool_name.ts";

/** How to ask a tool for its version, and which answers suit. */
export interface AcceptedVersion {
  readonly args: readonly string[];
  /** Captures major and minor. */
  readonly pattern: RegExp;
  readonly wanted: string;
  readonly suits: (major: number, minor: number) => boolean;
}

const kubernetes = { wanted: "1.36", suits: (major: number, minor: number) => major === 1 && minor === 36 };

/** The versions that may be used where one is found; machine-controller and the checkers cannot be asked. */
export const acceptedVersions: Readonly<Partial<Record<ToolName, AcceptedVersion>>> = {
  etcd: {
    args: ["--version"],
    pattern: /etcd Version: (\d+)\.(\d+)/,
    wanted: "3.6",
    suits: (major, minor) => major === 3 && minor === 6,
  },
  "kube-apiserver": { args: ["--version"], pattern: /Kubernetes v(\d+)\.(\d+)/, ...kubernetes },
  "kube-controller-manager": { args: ["--version"], pattern: /Kubernetes v(\d+)\.(\d+)/, ...kubernetes },
  kubectl: { args: ["version", "--client"], pattern: /Client Version: v(\d+)\.(\d+)/, ...kubernetes },
  temporal: {
    args: ["--version"],
    pattern: /temporal version (\d+)\.(\d+)/,
    wanted: "1.5 or newer",
    suits: (major, minor) => major > 1 || (major === 1 && minor >= 5),
  },
  tctl: {
    args: ["--version"],
    pattern: /tctl version (\d+)\.(\d+)/,
    wanted: "1.18",
    suits: (major, minor) => major === 1 && minor === 18,
  },
  "temporal-server": {
    args: ["--version"],
    pattern: /temporal version (\d+)\.(\d+)/,
    wanted: "1.29",
    suits: (major, minor) => major === 1 && minor === 29,
  },
  cosign: {
    args: ["version"],
    pattern: /GitVersion:\s+v(\d+)\.(\d+)/,
    wanted: "2.6",
    suits: (major, minor) => major === 2 && minor === 6,
  },
  registry: {
    args: ["--version"],
    pattern: /distribution\/distribution\S* v(\d+)\.(\d+)/,
    wanted: "3.0 or a newer 3",
    suits: (major) => major === 3,
  },
  helm: {
    args: ["version", "--short"],
    pattern: /^v(\d+)\.(\d+)/m,
    wanted: "3.19 or a newer 3",
    suits: (major, minor) => major === 3 && minor >= 19,
  },
};

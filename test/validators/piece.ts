import type { Phase } from "../../profiles/mod.ts";
import { type Machine, phases } from "./matrix.ts";

/** The format of a text. */
export type Kind =
  | "cloud-config"
  | "containerd-2.2"
  | "containerd-hosts"
  | "ignition-2.3"
  | "ignition-3.3"
  | `kubelet-1.${number}`
  | "kubelet-flags"
  | "script"
  | "toml"
  | "units"
  | "yaml";

/** One rendered text, and all tested combinations that contain it. */
export interface Piece {
  kind: Kind;
  /** Absolute path of the file on the machine; for a text that is not a file, a name in the form of a path. */
  path: string;
  text: string;
  seenOn: Pick<Machine, "profile" | "label">[];
}

type Found = Omit<Piece, "seenOn">;

/** Returns the texts of the machines; an equal text of several machines is one piece per kind and path. */
export function piecesOf(machines: readonly Machine[]): Piece[] {
  const pieces = new Map<string, Piece>();
  for (const machine of machines) {
    for (const found of textsOf(machine)) {
      const key = JSON.stringify([found.kind, found.path, found.text]);
      const piece = pieces.get(key) ?? { ...found, seenOn: [] };
      piece.seenOn.push(machine);
      pieces.set(key, piece);
    }
  }
  return [...pieces.values()];
}

function textsOf(machine: Machine): Found[] {
  const { config, files, userData, ignition3, minor, edgeScript } = machine;
  const userDataKind = config.provisioningUtility === "ignition" ? "ignition-2.3" : "cloud-config";
  return [
    ...phases.map((phase): Found => ({ kind: userDataKind, path: `/${phase}-user-data`, text: userData[phase] })),
    ...(ignition3 === undefined ? [] : phases.map((phase): Found => {
      return { kind: "ignition-3.3", path: `/${phase}-user-data-3.3.0`, text: ignition3[phase] };
    })),
    ...phases.flatMap((phase) => commandsOf(machine, phase)),
    ...files.flatMap(({ path, text }) => kindsOf(path, text, minor).map((kind) => ({ kind, path, text }))),
    ...(edgeScript === undefined ? [] : [{ kind: "script" as const, path: "/edge-script", text: edgeScript }]),
    ...files.flatMap(({ text }) => kubeletFlags(text)),
    unitsOf(machine),
  ];
}

/** Returns the commands of cloud-init's bootcmd and runcmd as scripts, because cloud-init passes them to sh. */
function commandsOf({ config }: Machine, phase: Phase): Found[] {
  const { bootcmd = [], runcmd = [] } = config[`${phase}Config`].modules ?? {};
  const scripts = Object.entries({ bootcmd, runcmd }).filter(([, commands]) => commands.length > 0);
  return scripts.map(([module, commands]) => {
    const text = ["#!/bin/sh", ...commands, ""].join("\n");
    return { kind: "script", path: `/${phase}-${module}`, text };
  });
}

/** Returns the arguments of the kubelet, if `text` is the unit that starts the kubelet. */
function kubeletFlags(text: string): Found[] {
  const [, words] = /^ExecStart=\S*\/kubelet\s((?:.*\\\n)*.*)$/m.exec(text) ?? [];
  return words === undefined
    ? []
    : [{ kind: "kubelet-flags", path: "/kubelet-flags", text: words.replaceAll("\\\n", "") }];
}

function kindsOf(path: string, text: string, minor: number): Kind[] {
  if (path === "/etc/containerd/config.toml") return ["containerd-2.2", "toml"];
  if (path.startsWith("/etc/containerd/certs.d/")) return ["containerd-hosts", "toml"];
  if (path.endsWith(".toml")) return ["toml"];
  if (/^kind: *KubeletConfiguration$/m.test(text)) return [`kubelet-1.${minor}`, "yaml"];
  if (/\.ya?ml$/.test(path)) return ["yaml"];
  const isScript = /^#!.*\bb?a?sh\b/.test(text) || /\.(sh|env)$/.test(path);
  return isScript ? ["script"] : [];
}

const unitFolder = "/etc/systemd/system/";

/** The content of a piece of kind `units` as JSON. */
export interface Units {
  /** Texts of the units, by path below /etc/systemd/system. */
  texts: Record<string, string>;
  /** Executables that the profile writes. */
  programs: string[];
}

// Units refer to each other, so all units of a machine are validated together.
function unitsOf({ files }: Machine): Found {
  const written = files.filter(({ path }) => path.startsWith(unitFolder));
  const programs = files.filter(({ mode }) => (Number.parseInt(mode, 8) & 0o111) !== 0).map(({ path }) => path);
  const texts = Object.fromEntries(written.map(({ path, text }) => [path.slice(unitFolder.length), text]));
  const units: Units = { texts, programs: programs.sort() };
  return { kind: "units", path: unitFolder, text: JSON.stringify(units) };
}

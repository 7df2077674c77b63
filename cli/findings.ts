import { styled, type Terminal } from "./terminal.ts";
import { plainTable } from "./view/plain_table.ts";
import { type Place, placeText } from "./yaml_file.ts";

/** Who found something. */
export type CheckName =
  | "yaml"
  | "schema"
  | "extends"
  | "render"
  | "user-data"
  | "size"
  | "cloud-init"
  | "shellcheck"
  | "systemd";

/** Something that is wrong with a profile. */
export interface Finding {
  place: Place;
  check: CheckName;
  /** With an error the profile cannot be used, or not everywhere; a warning may be meant so. */
  severity: "error" | "warning";
  message: string;
}

/** What was found, each thing once; `where` tells of the first time. */
export class Findings {
  readonly #found = new Map<string, Finding>();

  add(finding: Finding, where = ""): void {
    const key = [placeText(finding.place), finding.check, finding.message].join("\n");
    if (this.#found.has(key)) return;
    this.#found.set(key, { ...finding, message: where === "" ? finding.message : `${finding.message} (${where})` });
  }

  /** By file and line. */
  list(): Finding[] {
    return [...this.#found.values()].sort(({ place: left }, { place: right }) =>
      left.file.localeCompare(right.file) || (left.line ?? 0) - (right.line ?? 0)
    );
  }
}

/** The findings as a table whose rows begin with `file:line`; nothing when there are none. */
export function findingTable(terminal: Terminal, findings: readonly Finding[]): string {
  if (findings.length === 0) return "";
  return plainTable(findings.map(({ place, check, severity, message }) => {
    const colour = severity === "error" ? "red" : "yellow";
    return [placeText(place), styled(terminal, colour, severity), check, message];
  }));
}

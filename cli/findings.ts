import { styled, type Terminal } from "./terminal.ts";
import { plainTable } from "./view/plain_table.ts";
import { type Place, placeText } from "./yaml_file.ts";

/** The check that reported a finding. */
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

/** A defect of a profile. */
export interface Finding {
  place: Place;
  check: CheckName;
  /** An error makes the profile unusable, at least for some machines; a warning may be intended. */
  severity: "error" | "warning";
  message: string;
}

/**
 * Collects findings, each only once. `where` describes the rendering that had the finding; if several had it, the
 * message names only the first.
 */
export class Findings {
  readonly #found = new Map<string, Finding>();

  add(finding: Finding, where = ""): void {
    const key = [placeText(finding.place), finding.check, finding.message].join("\n");
    if (this.#found.has(key)) return;
    this.#found.set(key, { ...finding, message: where === "" ? finding.message : `${finding.message} (${where})` });
  }

  /** Returns the findings sorted by file and line. */
  list(): Finding[] {
    return [...this.#found.values()].sort(({ place: left }, { place: right }) =>
      left.file.localeCompare(right.file) || (left.line ?? 0) - (right.line ?? 0)
    );
  }
}

/** Returns a table whose rows begin with `file:line`; "" without findings. */
export function findingTable(terminal: Terminal, findings: readonly Finding[]): string {
  if (findings.length === 0) return "";
  return plainTable(findings.map(({ place, check, severity, message }) => {
    const colour = severity === "error" ? "red" : "yellow";
    return [placeText(place), styled(terminal, colour, severity), check, message];
  }));
}

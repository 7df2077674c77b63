/** A unit in the form that Ignition receives. */
interface UnitText {
  name: string;
  isEnabled: boolean;
  contents: string;
  dropins: { name: string; contents: string }[];
}

const suffixes = [
  ...["service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "snapshot", "slice"],
  "scope",
];

/** The longest line that Ignition accepts, in bytes. */
const longestLine = 2047;

/**
 * Returns what Ignition would refuse about a unit, or undefined if the unit is valid. The rules are from
 * github.com/coreos/ignition 0.35 (config/v2_3) and github.com/coreos/go-systemd (unit).
 */
export function checkUnit({ name, isEnabled, contents, dropins }: UnitText): string | undefined {
  if (!suffixes.includes(suffixOf(name))) return "its name must end in a unit type such as .service";
  const strange = dropins.find((dropIn) => suffixOf(dropIn.name) !== "conf");
  if (strange) return `the name of its drop-in "${strange.name}" must end in .conf`;
  for (const dropIn of dropins) {
    const { fault } = readUnit(dropIn.contents);
    if (fault !== undefined) return `its drop-in "${dropIn.name}" ${fault}`;
  }
  const { fault, sections } = readUnit(contents);
  if (fault !== undefined) return `its content ${fault}`;
  const isInert = isEnabled && sections.length > 0 && !sections.includes("Install");
  return isInert ? "it is enabled but has no option in an [Install] section" : undefined;
}

function suffixOf(name: string): string {
  return /\.([^./]*)$/.exec(name)?.[1] ?? "";
}

interface Reading {
  /** The section of each option of the unit, in the order of the options. */
  sections: string[];
  fault?: string;
}

const comment = /[#;](?:[^\n]*\\ ?\n)*[^\n]*\n?/y;
const header = /\[([^\]]*)\]([^\n]*)\n?/y;
const option = /[^=\r\n]*=(?:[^\n]*\\\n)*[^\n]*\n?/y;
const blank = /[\s\x85]+/y;
const beforeSections = /[^[#;]+/y;

/**
 * Reads the options of a unit: any text is allowed before the first section, then only options, comments and sections.
 */
function readUnit(text: string): Reading {
  const sections: string[] = [];
  const tooLong = text.split(/[\r\n]/).some((line) => new TextEncoder().encode(line).length > longestLine);
  if (tooLong) return { sections, fault: `has a line of more than ${longestLine} bytes` };
  let section: string | undefined;
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  while (at < text.length) {
    if (take(section === undefined ? beforeSections : blank) || take(comment)) continue;
    if (text[at] === "[") {
      const found = take(header);
      if (!found) return { sections, fault: "has a section header without ]" };
      if (found[2]?.trim() !== "") return { sections, fault: `has text after section header [${found[1]}]` };
      section = found[1] ?? "";
    } else if (take(option)) sections.push(section ?? "");
    else return { sections, fault: `has a line without = in section [${section}]` };
  }
  return { sections };
}

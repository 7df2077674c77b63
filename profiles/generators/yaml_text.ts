/**
 * Texts that cloud-init reads back as they are. Its reader is PyYAML, which knows YAML 1.1; what a reader of YAML 1.2
 * would take for something else is quoted too.
 */

// What YAML readers change or refuse as it stands, in one line and in several; a tab ends a bare text for PyYAML.
const unfitForLine = /[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const unfitForLines = /[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const leftByJson = /[\x7f-\x9f\u2028\u2029\ufffe\uffff]/g;

// Texts that begin, contain or end with what means something to YAML.
const marked = /^[ ,[\]{}#&*!|>'"%@`]|^[-?:]( |$)|: | #|[ :]$/;

// https://yaml.org/type/ and the core schema of YAML 1.2.2: null, booleans, merge and value keys, numbers, dates.
const typed = new RegExp(
  [
    "|~|null|Null|NULL|<<|=",
    "yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
    "[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*|[1-9][0-9_]*(:[0-5]?[0-9])+)",
    "[-+]?([0-9][0-9_]*(\\.[0-9_]*)?|\\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\\.[0-9_]*",
    "[-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|NAN)",
    "\\d{4}-\\d\\d?-\\d\\d?([Tt]|[ \\t]+)\\d\\d?:\\d\\d:\\d\\d(\\.\\d*)?([ \\t]*(Z|[-+]\\d\\d?(:?\\d\\d)?))?",
    "\\d{4}-\\d\\d-\\d\\d",
  ].map((kind) => `^(?:${kind})$`).join("|"),
);

/** A text bare where readers take it for exactly this string, else quoted. */
export function yamlString(text: string): string {
  return [unfitForLine, marked, typed].some((kind) => kind.test(text)) ? yamlQuote(text) : text;
}

/** A text in single quotes where they can hold it, else in double ones. */
export function yamlQuote(text: string): string {
  return unfitForLine.test(text) ? yamlEscape(text) : `'${text.replaceAll("'", "''")}'`;
}

/** A text in double quotes. */
export function yamlEscape(text: string): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text.toWellFormed()).replace(leftByJson, escaped);
}

/**
 * Key and text as a block of lines, `indent` columns right of the key. A block ends in one newline if it may `keep` one
 * (also where the text has none), else in none. Where a reader would take the lines for another text, they are told how
 * far they are indented, or the text is quoted as it is.
 */
export function yamlBlock(key: string, text: string, { indent, keep }: { indent: number; keep: boolean }): string {
  const isMisread = startsIndented.test(text);
  // machine-controller empties lines of nothing but blanks; only texts that were never read well are spared that.
  if (unfitForLines.test(text) || (isMisread && blankLine.test(text))) return `${key}: ${yamlEscape(text)}`;
  const margin = " ".repeat(key.length - key.trimStart().length + indent);
  const header = `|${isMisread ? indent : ""}${keep ? "" : "-"}`;
  return `${key}: ${header}\n${margin}${text.replaceAll("\n", `\n${margin}`)}`;
}

// Readers take the indentation of the first line that says something for that of all, and refuse longer ones before it.
const startsIndented = /^\n* /;
const blankLine = /^[ \t]+$/m;

/**
 * Writes texts that cloud-init parses back unchanged. cloud-init uses PyYAML, which implements YAML 1.1; texts that a
 * parser of YAML 1.2 would read differently are quoted too.
 */

// Characters that YAML parsers change or refuse, in one line and in a block; in PyYAML a tab ends an unquoted text.
const unfitForLine = /[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const unfitForLines = /[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const leftByJson = /[\x7f-\x9f\u2028\u2029\ufffe\uffff]/g;

// Texts that begin, contain or end with a YAML indicator.
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

/** Returns a text unquoted if parsers read it as exactly this string, else quoted. */
export function yamlString(text: string): string {
  return [unfitForLine, marked, typed].some((kind) => kind.test(text)) ? yamlQuote(text) : text;
}

/** Returns a text in single quotes if possible, else in double quotes. */
export function yamlQuote(text: string): string {
  return unfitForLine.test(text) ? yamlEscape(text) : `'${text.replaceAll("'", "''")}'`;
}

/** Returns a text in double quotes. */
export function yamlEscape(text: string): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text.toWellFormed()).replace(leftByJson, escaped);
}

/**
 * Returns key and text as a block of lines, `indent` columns to the right of the key. With `keep`, the parsed block
 * ends in one newline (even if the text has none); without `keep`, it ends in no newline. If a parser would misread the
 * block, its header states the indentation, or the text is quoted instead.
 */
export function yamlBlock(key: string, text: string, { indent, keep }: { indent: number; keep: boolean }): string {
  const isMisread = startsIndented.test(text);
  // A text is not quoted just because it has lines of blanks, although machine-controller removes the blanks of such
  // lines in a block.
  if (unfitForLines.test(text) || (isMisread && blankLine.test(text))) return `${key}: ${yamlEscape(text)}`;
  const margin = " ".repeat(key.length - key.trimStart().length + indent);
  const header = `|${isMisread ? indent : ""}${keep ? "" : "-"}`;
  return `${key}: ${header}\n${margin}${text.replaceAll("\n", `\n${margin}`)}`;
}

// Parsers take the indentation of the first line that is not empty as the indentation of all lines. They refuse a text
// if a blank line before that line has more spaces.
const startsIndented = /^\n* /;
const blankLine = /^[ \t]+$/m;

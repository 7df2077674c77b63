/** Texts that a YAML 1.1 or 1.2 parser does not read as strings, exactly as in the resolver of yaml.v3. */
const words = new Set(
  ["", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"].concat(
    ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF"],
    ["", "+", "-"].flatMap((sign) => [`${sign}.inf`, `${sign}.Inf`, `${sign}.INF`]),
    [".nan", ".NaN", ".NAN"],
  ),
);
const number = /^[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)$/;
const base60 = /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/;
const date = /^\d{4}-\d{1,2}-\d{1,2}([Tt ].*)?$/;

const unprintable = /[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;
const escapes: Record<string, string> = {
  "\0": "0",
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\x1b": "e",
  '"': '"',
  "\\": "\\",
  "\x85": "N",
};

/** Returns a text as Go's yaml.v3 writes the value of a key; the lines of a block scalar are indented by `indent`. */
export function goYamlScalar(text: string, indent: string): string {
  const isUnprintable = unprintable.test(text);
  if (text.includes("\n")) return isUnprintable || / (\n|$)/.test(text) ? doubleQuoted(text) : block(text, indent);
  const plain = text.replaceAll("_", "");
  if (words.has(text) || number.test(plain) || base60.test(text) || date.test(text)) return doubleQuoted(text);
  if (isUnprintable || text.includes("\t")) return doubleQuoted(text);
  const isPlain = !/^(---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[-?:]( |$))|: |:$| #|^ | $/.test(text);
  return isPlain ? text : `'${text.replaceAll("'", "''")}'`;
}

function block(text: string, indent: string): string {
  const hint = /^[ \n]/.test(text) ? "4" : "";
  const [, newlines = ""] = /[^\n]?(\n*)$/.exec(text) ?? [];
  const chomp = newlines.length === 0 ? "-" : newlines.length > 1 || text === "\n" ? "+" : "";
  const lines = text.replace(/\n$/, "").split("\n").map((line) => line === "" ? "" : indent + line);
  return [`|${hint}${chomp}`, ...lines].join("\n");
}

function doubleQuoted(text: string): string {
  const escaped = [...text].map((char) => {
    if (char in escapes) return `\\${escapes[char]}`;
    return unprintable.test(char) ? escapedPoint(char.codePointAt(0) ?? 0) : char;
  });
  return `"${escaped.join("")}"`;
}

function escapedPoint(point: number): string {
  const [letter, width] = point <= 0xff ? ["x", 2] as const : point <= 0xffff ? ["u", 4] as const : ["U", 8] as const;
  return `\\${letter}${point.toString(16).toUpperCase().padStart(width, "0")}`;
}

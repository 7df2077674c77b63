/** A value that YAML can say. */
export type YamlValue = string | boolean | readonly YamlValue[] | { readonly [key: string]: YamlValue };

// Characters that YAML readers refuse or change even inside double quotes.
const unprintable =
  /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const plainText = /^[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;

/** Quotes any text so that YAML 1.1 and 1.2 readers give it back unchanged. */
export function yamlQuote(text: string): string {
  return JSON.stringify(text).replace(unprintable, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Writes a value in block style, each line behind `indent`; strings are always quoted, so none turns into something else. */
export function yamlLines(value: YamlValue, indent = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item: YamlValue) => itemLines(item, indent));
  if (typeof value !== "object") return [`${indent}${scalar(value)}`];
  return Object.entries(value).flatMap(([key, inner]) => entryLines(key, inner, indent));
}

/** A text as a readable block where YAML keeps it unchanged there, else quoted; goes after `key: `. */
export function yamlBlock(text: string, indent: string): string {
  const isSafe = plainText.test(text) && /^[^\s]/.test(text) && !/[ \t]$/m.test(text);
  const body = text.replace(/\n+$/, "");
  const newlines = text.length - body.length;
  if (!isSafe || newlines > 1) return yamlQuote(text);
  const lines = body.split("\n").map((line) => line === "" ? "" : `${indent}${line}`);
  return [newlines === 1 ? "|" : "|-", ...lines].join("\n");
}

function entryLines(key: string, value: YamlValue, indent: string): string[] {
  const name = /^[A-Za-z][A-Za-z0-9_]*$/.test(key) ? key : yamlQuote(key);
  if (typeof value !== "object") return [`${indent}${name}: ${scalar(value)}`];
  const isEmpty = Object.keys(value).length === 0;
  if (isEmpty) return [`${indent}${name}: ${Array.isArray(value) ? "[]" : "{}"}`];
  return [`${indent}${name}:`, ...yamlLines(value, `${indent}  `)];
}

function itemLines(item: YamlValue, indent: string): string[] {
  const [first = "", ...rest] = yamlLines(item, `${indent}  `);
  return [`${indent}- ${first.slice(indent.length + 2)}`, ...rest];
}

function scalar(value: YamlValue): string {
  return typeof value === "string" ? yamlQuote(value) : String(value);
}

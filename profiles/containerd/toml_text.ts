const short: Record<string, string> = {
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

/** Returns a TOML string that is parsed back to exactly this text. */
export function tomlString(text: string): string {
  // deno-lint-ignore no-control-regex -- TOML wants them escaped
  const escaped = text.replace(/[\x00-\x1f\x7f"\\]/g, (char) => short[char] ?? `\\u${hex(char)}`);
  return `"${escaped}"`;
}

/** Returns a TOML key, quoted only if necessary. */
export function tomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : tomlString(key);
}

function hex(char: string): string {
  return char.charCodeAt(0).toString(16).padStart(4, "0");
}

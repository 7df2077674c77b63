/** Texts that encodings get wrong, generated from a seed. */

const pieces = [
  ...[" ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", ":", ": ", " #", "#", "-", "- ", "?", "? ", ",", "[", "]", "{", "}"],
  ...["'", '"', "''", "\\", "`", "@", "%", "&", "*", "!", "|", ">", "=", "~", "<<", "---", "...", "$", "<", ">"],
  ...["a", "b c", "yes", "no", "true", "null", "on", "0", "1", "07", "9", "1.5", "0x1f", "12:30", "2020-01-01"],
  ...[
    "é",
    "日本",
    "🦭",
    "\xa0",
    "\x85",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\0",
    "\x1b",
    "\x7f",
    "\ufffe",
    "<MACHINE_NAME>",
  ],
];

// Returns numbers below `limit`, the same ones for the same seed.
function chance(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Returns `count` texts of up to eight pieces. */
export function nastyTexts(seed: number, count: number): string[] {
  const below = chance(seed);
  const text = (): string => Array.from({ length: 1 + below(8) }, () => pieces[below(pieces.length)] ?? "").join("");
  return Array.from({ length: count }, text);
}

/** Returns a text with an escape sequence for each character that is not printable ASCII. */
export function shown(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

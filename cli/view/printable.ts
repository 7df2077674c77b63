/** Returns a text from another system in one line, without control characters and with at most `most` characters. */
export function printable(text: string, most = 200): string {
  const safe = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
  return safe.length > most ? `${safe.slice(0, most - 1)}…` : safe;
}

/** Returns a complete text of several lines, without control characters other than ends of lines and tabs. */
export function printableLines(text: string): string {
  return text.replaceAll(/[^\n\t]+/g, (part) => printable(part, Infinity));
}

/** Returns a plain object in which every text is one complete line without control characters. */
export function printableFields<T>(value: T): T {
  if (typeof value === "string") return printable(value, Infinity) as T;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(printableFields) as T;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, printableFields(inner)])) as T;
}

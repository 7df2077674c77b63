/** Returns a text from another system in one line, without control characters and with at most `most` characters. */
export function printable(text: string, most = 200): string {
  const safe = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
  return safe.length > most ? `${safe.slice(0, most - 1)}…` : safe;
}

/** Text for the web UI's Markdown, from words that are not ours: names, reasons, what the API server said. */

/**
 * Words as they are: what Markdown would take for markup is escaped. The web UI drops the whole paragraph that holds
 * a colon before a word, as it takes ":31" for a directive.
 */
export function plain(text: string, longest = 400): string {
  const readable = text.replaceAll(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z/g, "$1 $2 UTC");
  return bounded(readable, longest).replaceAll(/[\\`*_[\]<>|~#]|:(?=\w)/g, "\\$&");
}

/** A name or a number, to be copied; also fit for the cell of a table. */
export function code(text: string, longest = 120): string {
  return `\`${bounded(text, longest).replaceAll("`", "'").replaceAll("|", "\\|")}\``;
}

/** To the second, in UTC; from RFC 3339 or epoch ms. */
export function moment(time: string | number): string {
  const iso = typeof time === "number" ? new Date(time).toISOString() : time;
  return code(`${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`);
}

/** The same to the minute, for a table that names UTC in its head. */
export function minute(time: string): string {
  return code(`${time.slice(0, 10)} ${time.slice(11, 16)}`);
}

/** The first few names, and how many more there are. */
export function names(all: readonly string[], shown = 5): string {
  const rest = all.length - shown;
  return all.slice(0, shown).map((name) => code(name)).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** A table; undefined without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string | undefined {
  if (rows.length === 0) return undefined;
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** A bar of text; what has begun is seen, and what is not done does not look done. */
export function bar(done: number, total: number, width = 20): string {
  const share = total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
  const filled = Math.round(width * share);
  const honest = share > 0 && share < 1 ? Math.min(width - 1, Math.max(1, filled)) : filled;
  return code("█".repeat(honest) + "░".repeat(width - honest));
}

function bounded(text: string, longest: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`;
}

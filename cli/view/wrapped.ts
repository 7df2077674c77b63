/**
 * Breaks a text at spaces into lines of at most `columns` characters, and of at most 100; only a longer word exceeds
 * this.
 */
export function wrapped(text: string, columns: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > Math.min(columns, 100)) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}

/** Returns at most three names that are similar to a mistyped name, the most similar first. */
function nearNames(wanted: string, names: Iterable<string>): string[] {
  const most = Math.max(2, Math.floor(wanted.length / 3));
  const ranked = [...new Set(names)].map((name) => {
    const contains = wanted.length > 2 && (name.includes(wanted) || wanted.includes(name));
    return { name, far: contains ? 1 : distance(wanted, name) };
  });
  const near = ranked.filter(({ far }) => far <= most).sort((a, b) => a.far - b.far || a.name.localeCompare(b.name));
  return near.slice(0, 3).map(({ name }) => name);
}

/** Returns the end of a sentence: `; did you mean "a" or "b"?`, or "". */
export function nearText(wanted: string, names: Iterable<string>): string {
  const near = nearNames(wanted, names).map((name) => `"${name}"`);
  return near.length === 0 ? "" : `; did you mean ${near.join(" or ")}?`;
}

// The Levenshtein distance: the minimum number of letters to insert, delete or replace.
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const change = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** The measurements of the bench, in comparable numbers. */

/** The measured system; the floor is Temporal alone with a workflow that does nothing. */
export type Column = "Ostler" | "OSM" | "floor";

/** One row of the table: the values of a measure, at one size, for each measured system. */
export interface Figure {
  /** The part of the bench that measured the values. */
  part: string;
  what: string;
  unit: string;
  /** Number of pools or machines, if the bench measures several sizes. */
  size?: number;
  values: Partial<Record<Column, number>>;
}

/** The measure, its unit, and its value. */
export type Row = [what: string, unit: string, value: number];

/** Converts the rows that one part has measured for one system, at one size if the part has several. */
export function figuresOf(
  { part, column, size }: { part: string; column: Column; size?: number },
  rows: Row[],
): Figure[] {
  const at = size === undefined ? {} : { size };
  return rows.map(([what, unit, value]) => ({ part, what, unit, ...at, values: { [column]: value } }));
}

/** Puts the values of one measure at one size side by side; rows keep the order in which they first came. */
export function beside(figures: readonly Figure[]): Figure[] {
  const rows = new Map<string, Figure>();
  for (const figure of figures) {
    const key = JSON.stringify([figure.part, figure.what, figure.size]);
    rows.set(key, { ...figure, values: { ...rows.get(key)?.values, ...figure.values } });
  }
  return [...rows.values()];
}

/** Returns the median; of an even number of values, the upper of the two in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Returns the value that the given share of all values does not exceed; NaN if there are no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

/**
 * Returns how a value grows with size: the exponent of the power of size that fits best (least squares of the
 * logarithms). It is 0 if size does not matter, and 1 if the value doubles when the size doubles; undefined for fewer
 * than two sizes.
 */
export function growthOf(points: readonly { size: number; value: number }[]): number | undefined {
  const logs = points.filter(({ value }) => value > 0).map(({ size, value }) =>
    [Math.log(size), Math.log(value)] as const
  );
  const mean = (at: 0 | 1): number => logs.reduce((sum, log) => sum + log[at], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const spread = logs.reduce((sum, log) => sum + (log[0] - x) ** 2, 0);
  if (!(spread > 0)) return undefined;
  return logs.reduce((sum, log) => sum + (log[0] - x) * (log[1] - y), 0) / spread;
}

/** Returns for each measured system how the given measure grows over all its sizes. */
export function growths(figures: readonly Figure[], { part, what }: Figure): Partial<Record<Column, number>> {
  const sizes = figures.filter((figure) => figure.part === part && figure.what === what && figure.size !== undefined);
  const entries = (["Ostler", "OSM", "floor"] as const).map((column) => {
    const points = sizes.flatMap(({ size = 0, values }) => {
      const value = values[column];
      return value === undefined ? [] : [{ size, value }];
    });
    return [column, growthOf(points)] as const;
  });
  return Object.fromEntries(entries.filter(([, growth]) => growth !== undefined));
}

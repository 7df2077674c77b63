/** Many requests, a few at a time. */

/** Does `work` for each item, at most `width` at once, with the results in the order of the items; the first failure ends it. */
export async function abreast<T, R>(width: number, items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  // They share one iterator, so each takes the next item that nobody has.
  const lane = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}

/**
 * Waits for all of them, also where one has failed: none goes on when its activity has ended, and another try begun.
 * Throws the failure of the first one, in their order.
 */
export async function sideBySide<Works extends readonly unknown[]>(
  ...works: Works
): Promise<{ -readonly [Each in keyof Works]: Awaited<Works[Each]> }> {
  await Promise.allSettled(works);
  return await Promise.all(works);
}

/** Does the work for every item, `most` of them at a time; the answers are in the order of the items. */
export async function abreast<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  const left = items.entries(); // shared: whoever is free takes the next
  const takeNext = async (): Promise<void> => {
    for (const [index, item] of left) answers[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, takeNext));
  return answers;
}

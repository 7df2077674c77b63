/** Lists of any length, a page at a time: one page is all that is ever held in full. */
import { statusOf } from "./status.ts";

/** Objects in one page. */
export const pageSize = 500;

/** What is asked for one page. */
export interface PageOf {
  limit: number;
  _continue?: string;
}

/** A page as a typed client gives it, or as it comes. */
export interface ListPage<T> {
  items?: T[];
  metadata?: { _continue?: string; continue?: string; resourceVersion?: string };
}

/** Hands each page to `take`; gives the resource version at which all of them were read. */
export async function eachPage<T>(
  read: (page: PageOf) => Promise<ListPage<T>>,
  take: (items: T[]) => void,
): Promise<string> {
  let after: string | undefined;
  let version: string | undefined;
  do {
    const { items = [], metadata = {} } = await read({ limit: pageSize, ...(after ? { _continue: after } : {}) });
    take(items);
    version ??= metadata.resourceVersion;
    after = metadata._continue || metadata.continue;
  } while (after);
  return version ?? "";
}

/** All objects of a list; begun once more where its place was forgotten while it was read. */
export async function allPages<T>(read: (page: PageOf) => Promise<ListPage<T>>): Promise<T[]> {
  for (let nth = 1;; nth++) {
    const all: T[] = [];
    try {
      await eachPage(read, (items) => all.push(...items));
      return all;
    } catch (error) {
      if (statusOf(error) !== 410 || nth > 1) throw error;
    }
  }
}

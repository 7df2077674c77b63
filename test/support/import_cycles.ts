/** Finds cycles of imports: a module that needs itself through others. Types count, because readers follow them too. */

import { importsOf } from "../run/import_graph.ts";

/** Modules by path, with their text. */
export type Modules = ReadonlyMap<string, string>;

/** Returns each cycle once, as the paths of its modules in alphabetical order. */
export function importCycles(modules: Modules): string[][] {
  const graph = new Map(
    [...modules].map(([path, text]) => [path, importsOf(path, text).filter((target) => modules.has(target))]),
  );
  return circlesOf(graph).map((circle) => circle.sort());
}

interface Visit {
  index: number;
  /** The lowest index of a module on the stack that can be reached from this module. */
  low: number;
  onStack: boolean;
}

/**
 * Returns the strongly connected components (Tarjan) that have more than one module or a module that imports itself.
 */
function circlesOf(graph: ReadonlyMap<string, string[]>): string[][] {
  const visits = new Map<string, Visit>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string): Visit => {
    const here: Visit = { index: visits.size, low: visits.size, onStack: true };
    visits.set(path, here);
    stack.push(path);
    for (const target of graph.get(path) ?? []) {
      const seen = visits.get(target);
      if (seen?.onStack) here.low = Math.min(here.low, seen.index);
      if (!seen) here.low = Math.min(here.low, visit(target).low);
    }
    if (here.low === here.index) close(path);
    return here;
  };
  const close = (path: string): void => {
    const circle = stack.splice(stack.indexOf(path));
    for (const each of circle) Object.assign(visits.get(each) ?? {}, { onStack: false });
    if (circle.length > 1 || graph.get(path)?.includes(path)) circles.push(circle);
  };
  for (const path of graph.keys()) if (!visits.has(path)) visit(path);
  return circles;
}

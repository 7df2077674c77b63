/** Finds circles of imports: a module that, over others, needs itself. Types count, as readers follow them too. */

/** Modules by path, with their text. */
export type Modules = ReadonlyMap<string, string>;

/** Each circle once, as the paths of its modules in alphabetical order. */
export function importCycles(modules: Modules): string[][] {
  const graph = new Map([...modules].map(([path, text]) => [path, importsOf(path, text, modules)]));
  return circlesOf(graph).map((circle) => circle.sort());
}

/** Modules of ours that a text names: import, export from, import() and the types of import(). */
function importsOf(path: string, text: string, modules: Modules): string[] {
  const named = [...withoutComments(text).matchAll(/(?:\bfrom|\bimport|\bimport\s*\()\s*"(\.[^"]*)"/g)];
  const targets = named.map(([, specifier = ""]) => new URL(specifier, `house:///${path}`).pathname.slice(1));
  return targets.filter((target) => modules.has(target));
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

interface Visit {
  index: number;
  /** The earliest module on the stack that can be reached from here. */
  low: number;
  onStack: boolean;
}

/** Tarjan's strongly connected components, those with more than one module or an import of itself. */
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

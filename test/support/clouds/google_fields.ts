/** Partial responses, by the selector in the parameter `fields`. */

/**
 * Returns the part of a value that a selector such as "items(name,disks(source)),nextPageToken" matches; throws for an
 * invalid one.
 */
export function selected(value: unknown, selector: string): unknown {
  const { fields, rest } = parsed(selector);
  if (rest !== "") throw new Error(`not a valid selector: ${selector}`);
  return part(value, fields);
}

type Fields = Map<string, Fields | undefined>;

function parsed(text: string): { fields: Fields; rest: string } {
  const fields: Fields = new Map();
  let rest = text;
  for (;;) {
    const [name] = /^[A-Za-z][A-Za-z0-9]*/.exec(rest) ?? [];
    if (name === undefined) throw new Error(`not a valid selector: ${text}`);
    rest = rest.slice(name.length);
    if (rest.startsWith("(")) {
      const inner = parsed(rest.slice(1));
      if (!inner.rest.startsWith(")")) throw new Error(`not a valid selector: ${text}`);
      fields.set(name, inner.fields);
      rest = inner.rest.slice(1);
    } else fields.set(name, undefined);
    if (!rest.startsWith(",")) return { fields, rest };
    rest = rest.slice(1);
  }
}

function part(value: unknown, fields: Fields): unknown {
  if (Array.isArray(value)) return value.map((each) => part(each, fields));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => fields.has(key));
  return Object.fromEntries(entries.map(([key, each]) => {
    const inner = fields.get(key);
    return [key, inner ? part(each, inner) : each];
  }));
}

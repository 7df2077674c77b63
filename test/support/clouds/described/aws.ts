/** Validates requests to the test double of AWS, and its answers, by AWS's published descriptions (in `aws.json`). */
import aws from "./aws.json" with { type: "json" };

export type Api = "autoscaling" | "ec2";

interface Shape {
  type: string;
  enum?: string[];
  pattern?: string;
  min?: number;
  max?: number;
  flattened?: boolean;
  /** For each member: its shape, its name in requests, and its name in answers. */
  members?: Record<string, [shape: string, asked: string, answered: string]>;
  required?: string[];
  /** The shape of a list's items; `item` is the name of their elements. */
  of?: string;
  item?: string;
}

interface Description {
  version: string;
  operations: Record<string, { input?: string; output?: string }>;
  shapes: Record<string, Shape>;
}

const described = aws as unknown as Record<Api, Description>;

/** A field of a request, or a list or a structure of them. */
type Tree = string | { [part: string]: Tree };

/** Returns why AWS would refuse a request; empty for one that it accepts. */
export function faultsOfRequest(api: Api, form: URLSearchParams): string[] {
  const { operations, version } = described[api];
  const action = form.get("Action") ?? "";
  const operation = operations[action];
  if (!operation) return [`no action "${action}" in ${api}`];
  if (form.get("Version") !== version) return [`${action} has version "${form.get("Version")}"`];
  const fields: { [part: string]: Tree } = {};
  for (const [key, value] of form) if (key !== "Action" && key !== "Version") put(fields, key.split("."), value);
  return operation.input === undefined ? [] : new Request(api).faults(operation.input, fields, action);
}

/** Returns what differs from the description in an answer of the double; empty for an answer that AWS could give. */
export function faultsOfAnswer(api: Api, action: string, answer: object): string[] {
  const output = described[api].operations[action]?.output;
  // EC2 actions without a described output return only whether they succeeded.
  if (output === undefined) {
    return Object.keys(answer).filter((key) => key !== "return").map((key) => `${action}.${key}`);
  }
  return new Answer(api).faults(output, answer, action);
}

function put(fields: { [part: string]: Tree }, [first = "", ...rest]: string[], value: string): void {
  if (rest.length === 0) return void (fields[first] = value);
  const inner = fields[first];
  const next = typeof inner === "object" ? inner : {};
  fields[first] = next;
  put(next, rest, value);
}

class Request {
  constructor(private readonly api: Api) {}

  faults(name: string, tree: Tree, at: string): string[] {
    const shape = shapeOf(this.api, name);
    if (shape.type === "structure") return this.#ofStructure(shape, tree, at);
    if (shape.type === "list") return this.#ofList(shape, tree, at);
    return typeof tree === "string" ? ofText(shape, tree, at) : [`${at} is a structure instead of a ${shape.type}`];
  }

  #ofStructure({ members = {}, required = [] }: Shape, tree: Tree, at: string): string[] {
    if (typeof tree === "string") return [`${at} is a text instead of a structure`];
    const missing = required.filter((name) => tree[members[name]?.[1] ?? ""] === undefined);
    const known = new Map(Object.values(members).map(([shape, asked]) => [asked, shape]));
    return [
      ...missing.map((name) => `${at} lacks "${name}"`),
      ...Object.entries(tree).flatMap(([key, value]) => {
        const shape = known.get(key);
        return shape === undefined ? [`${at} has no field "${key}"`] : this.faults(shape, value, `${at}.${key}`);
      }),
    ];
  }

  /** Checks a list; lists in requests to EC2 are always flattened. */
  #ofList(shape: Shape, tree: Tree, at: string): string[] {
    const { of = "", item = "", flattened = this.api === "ec2" } = shape;
    const items = flattened || typeof tree === "string" ? tree : tree[item];
    if (items === undefined || typeof items === "string") return [`${at} is not a list of "${item}"`];
    const numbers = Object.keys(items).map(Number).sort((a, b) => a - b);
    const isCounted = numbers.every((number, nth) => number === nth + 1);
    return [
      ...(isCounted ? [] : [`${at} is not counted from 1`]),
      ...ofSize(shape, numbers.length, at),
      ...Object.values(items).flatMap((each) => this.faults(of, each, at)),
    ];
  }
}

class Answer {
  constructor(private readonly api: Api) {}

  faults(name: string, value: unknown, at: string): string[] {
    const shape = shapeOf(this.api, name);
    // In XML, an empty list or structure is an empty element.
    if (value === undefined || (value === "" && (shape.type === "list" || shape.type === "structure"))) return [];
    if (shape.type === "list") {
      if (!Array.isArray(value)) return [`${at} is not a list`];
      return value.flatMap((each, nth) => this.faults(shape.of ?? "", each, `${at}[${nth}]`));
    }
    if (shape.type !== "structure") {
      return typeof value === "object" ? [`${at} is not a ${shape.type}`] : ofText(shape, String(value), at);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${at} is not a structure`];
    return this.#ofStructure(shape, value as Record<string, unknown>, at);
  }

  #ofStructure({ members = {}, required = [] }: Shape, value: Record<string, unknown>, at: string): string[] {
    const known = new Map(Object.values(members).map(([shape, , answered]) => [answered, shape]));
    const missing = required.filter((name) => value[members[name]?.[2] ?? ""] === undefined);
    return [
      ...missing.map((name) => `${at} lacks "${name}"`),
      ...Object.entries(value).flatMap(([key, each]) => {
        const shape = known.get(key);
        return shape === undefined ? [`${at} has no field "${key}"`] : this.faults(shape, each, `${at}.${key}`);
      }),
    ];
  }
}

function shapeOf(api: Api, name: string): Shape {
  const shape = described[api].shapes[name];
  if (!shape) throw new Error(`Failed to validate a request: the description of ${api} has no shape "${name}"`);
  return shape;
}

const numbers = ["integer", "long", "float", "double"];

function ofText(shape: Shape, text: string, at: string): string[] {
  const { type, enum: values, pattern } = shape;
  if (type === "boolean") return text === "true" || text === "false" ? [] : [`${at} is "${text}" instead of a boolean`];
  if (type === "timestamp") return Number.isNaN(Date.parse(text)) ? [`${at} is "${text}" instead of a time`] : [];
  if (numbers.includes(type)) {
    if (!/^-?\d+(\.\d+)?$/.test(text)) return [`${at} is "${text}" instead of a number`];
    return ofSize(shape, Number(text), at);
  }
  if (values && !values.includes(text)) return [`${at} is "${text}" instead of one of ${values.join(", ")}`];
  const isWrong = pattern !== undefined && !new RegExp(`^(?:${inJavaScript(pattern)})$`, "u").test(text);
  return [
    ...(isWrong ? [`${at} is "${text}", which does not match ${pattern}`] : []),
    ...ofSize(shape, text.length, at),
  ];
}

/**
 * Returns an AWS pattern in JavaScript's syntax: joins two surrogates (`\uXXXX\uXXXX`) into their one code point, and
 * removes escapes that the flag `u` forbids.
 */
function inJavaScript(pattern: string): string {
  const joined = pattern.replaceAll(
    /\\u(D[89AB][0-9A-F]{2})\\u(D[C-F][0-9A-F]{2})/gi,
    (_, high: string, low: string) => {
      const point = (parseInt(high, 16) - 0xd800) * 0x400 + (parseInt(low, 16) - 0xdc00) + 0x10000;
      return `\\u{${point.toString(16)}}`;
    },
  );
  return joined.replaceAll(
    /\\([-_/@:#"'=,& ])/g,
    (_, sign: string) => sign === "-" ? "\\-" : sign === "/" ? "\\/" : sign,
  );
}

function ofSize({ min = -Infinity, max = Infinity }: Shape, size: number, at: string): string[] {
  if (size < min) return [`${at} has ${size}, less than ${min}`];
  return size > max ? [`${at} has ${size}, more than ${max}`] : [];
}

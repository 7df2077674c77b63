/**
 * Validates requests to the test double of Google, and its answers, by the discovery document of Compute Engine (in
 * `google.json`).
 */
import google from "./google.json" with { type: "json" };

interface Schema {
  type?: string;
  format?: string;
  enum?: string[];
  pattern?: string;
  $ref?: string;
  /** Whether only Google sets the field: a request that has it is accepted, but the field has no effect. */
  output?: boolean;
  items?: Schema;
  values?: Schema;
  properties?: Record<string, Schema>;
}

interface Method {
  id: string;
  method: string;
  path: string;
  query: Record<string, Schema>;
  request?: string;
  response: string;
}

const described = google as unknown as {
  base: string;
  methods: Method[];
  schemas: Record<string, Record<string, Schema>>;
};

export interface Asked {
  method: string;
  url: string;
  text: string;
}

/** Returns what Google would refuse or ignore in a request; empty for one that it accepts. */
export function faultsOfRequest({ method, url, text }: Asked): string[] {
  const found = methodOf({ method, url });
  if (!found) return [`no ${method} ${new URL(url).pathname}`];
  const query = [...new URL(url).searchParams].flatMap(([key, value]) => {
    const schema = found.query[key];
    return schema ? ofQuery(schema, value, `${found.id}?${key}`) : [`${found.id} has no parameter "${key}"`];
  });
  if (found.request === undefined) return [...query, ...(text === "" ? [] : [`${found.id} has no body`])];
  return [...query, ...ofSchema({ $ref: found.request }, JSON.parse(text || "{}"), { at: found.id, isAsked: true })];
}

/** Returns what differs from the description in an answer of the test double. */
export function faultsOfAnswer({ method, url }: Pick<Asked, "method" | "url">, answer: unknown): string[] {
  const found = methodOf({ method, url });
  return found ? ofSchema({ $ref: found.response }, answer, { at: found.id, isAsked: false }) : [];
}

function methodOf({ method, url }: Pick<Asked, "method" | "url">): Method | undefined {
  const { pathname } = new URL(url);
  return described.methods.find((each) => {
    const path = each.path.replaceAll(/[.]/g, "\\.").replaceAll(/\{[^}]+\}/g, "[^/]+");
    return each.method === method && new RegExp(`^/${described.base}${path}$`).test(pathname);
  });
}

function ofQuery({ type, enum: values }: Schema, text: string, at: string): string[] {
  if (values && !values.includes(text)) return [`${at} is "${text}"`];
  if (type === "boolean") return text === "true" || text === "false" ? [] : [`${at} is "${text}" instead of a boolean`];
  if (type === "integer") return /^\d+$/.test(text) ? [] : [`${at} is "${text}" instead of a number`];
  return [];
}

interface Place {
  at: string;
  isAsked: boolean;
}

function ofSchema(schema: Schema, value: unknown, { at, isAsked }: Place): string[] {
  if (value === null || value === undefined) return isAsked && value === null ? [`${at} is null`] : [];
  if (isAsked && schema.output) return [`${at} is output only`];
  const properties = schema.$ref === undefined ? schema.properties : described.schemas[schema.$ref];
  if (properties || schema.values) {
    if (typeof value !== "object" || Array.isArray(value)) return [`${at} is not an object`];
    return Object.entries(value).flatMap(([key, each]) => {
      const inner = properties?.[key] ?? schema.values;
      const place = { at: `${at}.${key}`, isAsked };
      return inner ? ofSchema(inner, each, place) : [`${at} has no field "${key}"`];
    });
  }
  const { items } = schema;
  if (schema.type !== "array" || !items) return ofValue(schema, value, at);
  if (!Array.isArray(value)) return [`${at} is not a list`];
  return value.flatMap((each, nth) => ofSchema(items, each, { at: `${at}[${nth}]`, isAsked }));
}

/** Numbers of 64 bits are texts in JSON. */
function ofValue({ type, format, enum: values }: Schema, value: unknown, at: string): string[] {
  if (type === "string") {
    if (typeof value !== "string") return [`${at} is ${JSON.stringify(value)} instead of a text`];
    if (format?.endsWith("int64") && !/^-?\d+$/.test(value)) return [`${at} is "${value}" instead of a number`];
    return values && !values.includes(value) ? [`${at} is "${value}" instead of one of ${values.join(", ")}`] : [];
  }
  const isRight = type === "boolean"
    ? typeof value === "boolean"
    : type === "integer"
    ? Number.isInteger(value)
    : type !== "number" || typeof value === "number";
  return isRight ? [] : [`${at} is ${JSON.stringify(value)} instead of type ${type}`];
}

/**
 * Validates requests to the test double of Azure, and its answers, by Microsoft.Compute's description (in
 * `azure.json`).
 */
import azure from "./azure.json" with { type: "json" };

interface Schema {
  type?: string;
  /** The name of the list of allowed values. */
  enum?: string;
  $ref?: string;
  /** Whether only Azure sets the field, and refuses a request that has it. */
  readOnly?: boolean;
  required?: boolean;
  items?: Schema;
  values?: Schema;
}

interface Method {
  id: string;
  method: string;
  path: string;
  query: Record<string, Schema>;
  statuses: number[];
  request?: string;
  response?: string;
  isPaged?: boolean;
}

const described = azure as unknown as {
  version: string;
  methods: Method[];
  enums: Record<string, string[]>;
  schemas: Record<string, Record<string, Schema>>;
};

export interface Asked {
  method: string;
  url: string;
  text: string;
}

export interface Answered {
  status: number;
  body: unknown;
}

/** Returns why Azure would refuse a request; empty for one that it accepts. */
export function faultsOfRequest({ method, url, text }: Asked): string[] {
  const found = methodOf({ method, url });
  if (!found) return [`no ${method} ${new URL(url).pathname}`];
  const { searchParams } = new URL(url);
  const version = searchParams.get("api-version");
  const query = [...searchParams].flatMap(([key, value]) => ofQuery(found, key, value));
  const faults = [...(version === described.version ? [] : [`${found.id} has version "${version}"`]), ...query];
  if (found.request === undefined) return [...faults, ...(text === "" ? [] : [`${found.id} has no body`])];
  const body: unknown = JSON.parse(text || "null");
  return [...faults, ...ofSchema({ $ref: found.request }, body, { at: found.id, isAsked: true })];
}

/** Returns what differs from the description in a successful answer of the test double. */
export function faultsOfAnswer(asked: Pick<Asked, "method" | "url">, { status, body }: Answered): string[] {
  const found = methodOf(asked);
  if (!found) return [];
  const { id: at, statuses, response, isPaged = false } = found;
  const faults = statuses.includes(status) ? [] : [`${at} with status ${status}`];
  if (response === undefined) return [...faults, ...(body === undefined ? [] : [`${at} has no body`])];
  if (!isPaged) return [...faults, ...ofSchema({ $ref: response }, body, { at, isAsked: false })];
  const { value, nextLink = "", ...others } = (body ?? {}) as Record<string, unknown>;
  return [
    ...faults,
    ...Object.keys(others).map((key) => `${at} has no field "${key}"`),
    ...ofValue({ type: "string" }, nextLink, `${at}.nextLink`),
    ...ofSchema({ items: { $ref: response } }, value, { at: `${at}.value`, isAsked: false }),
  ];
}

/** Azure ignores the case of paths. */
function methodOf({ method, url }: Pick<Asked, "method" | "url">): Method | undefined {
  const path = decodeURIComponent(new URL(url).pathname);
  return described.methods.find((each) => {
    const pattern = each.path.replaceAll(".", "\\.").replaceAll(/\{[^}]+\}/g, "[^/]+");
    return each.method === method && new RegExp(`^${pattern}$`, "i").test(path);
  });
}

/** Checks a parameter of a query; `$skiptoken` is not described, because only Azure writes the URL of a next page. */
function ofQuery({ id, query, isPaged = false }: Method, key: string, text: string): string[] {
  if (isPaged && key === "$skiptoken") return [];
  const schema = query[key];
  if (!schema) return [`${id} has no parameter "${key}"`];
  const isWrong = schema.type === "boolean" && text !== "true" && text !== "false";
  return isWrong ? [`${id}?${key} is "${text}" instead of a boolean`] : [];
}

interface Place {
  at: string;
  isAsked: boolean;
}

function ofSchema(schema: Schema, value: unknown, { at, isAsked }: Place): string[] {
  if (value === null || value === undefined) return [`${at} is ${value}`];
  if (isAsked && schema.readOnly) return [`${at} is read-only`];
  const { items, values, $ref } = schema;
  if (items) {
    if (!Array.isArray(value)) return [`${at} is not a list`];
    return value.flatMap((each, nth) => ofSchema(items, each, { at: `${at}[${nth}]`, isAsked }));
  }
  if ($ref === undefined && !values) return ofValue(schema, value, at);
  if (typeof value !== "object" || Array.isArray(value)) return [`${at} is not an object`];
  const fields = $ref === undefined ? {} : described.schemas[$ref] ?? {};
  const missing = Object.entries(fields).filter(([key, { required }]) => required && !(key in value));
  return [
    ...missing.map(([key]) => `${at} lacks "${key}"`),
    ...Object.entries(value).flatMap(([key, each]) => {
      const inner = fields[key] ?? values;
      return inner ? ofSchema(inner, each, { at: `${at}.${key}`, isAsked }) : [`${at} has no field "${key}"`];
    }),
  ];
}

function ofValue({ type, enum: name }: Schema, value: unknown, at: string): string[] {
  const shown = JSON.stringify(value);
  if (name !== undefined) {
    const known = described.enums[name] ?? [];
    return known.some((each) => each === value) ? [] : [`${at} is ${shown} instead of one of ${known.join(", ")}`];
  }
  if (type === "time") {
    return typeof value === "string" && !Number.isNaN(Date.parse(value)) ? [] : [`${at} is ${shown} instead of a time`];
  }
  const isRight = type === "any" || (type === "integer" ? Number.isInteger(value) : typeof value === type);
  return isRight ? [] : [`${at} is ${shown} instead of type ${type}`];
}

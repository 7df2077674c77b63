/** Schemas of CustomResourceDefinitions, applied as the API server does. */

/** A structural schema, with the fields that Ostler's CRDs use. */
export interface CrdSchema {
  type?: string;
  format?: string;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  required?: string[];
  properties?: Record<string, CrdSchema>;
  additionalProperties?: CrdSchema;
  items?: CrdSchema;
}

/** A value somewhere in an object. */
interface Place {
  schema: CrdSchema;
  value: unknown;
  path: string;
}

/**
 * Returns why an object would be refused, and which fields would be dropped, one line each; none if it is stored
 * unchanged.
 */
export function faultsBy(schema: CrdSchema, value: unknown): string[] {
  return faultsAt({ schema, value, path: "" });
}

function faultsAt({ schema, value, path }: Place): string[] {
  if (path === "metadata") return []; // the API server validates metadata itself
  const faults = [...valueFaults(schema, value)].map((fault) => `${path} ${fault}`);
  if (Array.isArray(value)) {
    const { items = {} } = schema;
    return [
      ...faults,
      ...value.flatMap((item, at) => faultsAt({ schema: items, value: item, path: `${path}[${at}]` })),
    ];
  }
  if (typeof value !== "object" || value === null) return faults;
  const missing = (schema.required ?? []).filter((name) => !(name in value)).map((name) => `${path} lacks ${name}`);
  const inner = Object.entries(value).flatMap(([name, field]) => {
    const known = schema.properties?.[name] ?? schema.additionalProperties;
    const at = path === "" ? name : `${path}.${name}`;
    return known ? faultsAt({ schema: known, value: field, path: at }) : [`${at} is dropped`];
  });
  return [...faults, ...missing, ...inner];
}

function* valueFaults(schema: CrdSchema, value: unknown): Generator<string> {
  if (schema.type !== typeOf(value)) yield `is ${typeOf(value)}, not ${schema.type}`;
  if (schema.enum && !schema.enum.includes(value)) yield `is none of ${schema.enum.join(", ")}`;
  if (typeof value === "number" && value < (schema.minimum ?? -Infinity)) yield "is too small";
  if (typeof value !== "string") return;
  if (schema.format === "date-time" && Number.isNaN(Date.parse(value))) yield "is not a time";
  if (value.length < (schema.minLength ?? 0) || value.length > (schema.maxLength ?? Infinity)) {
    yield "has a wrong length";
  }
  if (schema.pattern && !new RegExp(schema.pattern).test(value)) yield `does not match ${schema.pattern}`;
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return Number.isInteger(value) ? "integer" : typeof value;
}

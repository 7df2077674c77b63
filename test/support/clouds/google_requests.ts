/**
 * The requests that Google accepts, by its published description of Compute Engine (v1), for the calls served here. Any
 * other path, parameter or field, a missing field, and a wrong type are errors.
 */
import { z } from "zod";
import { wrongFields } from "./google_description.ts";
import { project } from "./google_ground.ts";

/** A request that Google would refuse. */
export class GoogleWrong extends Error {}

/** A request that Google accepts. */
export interface GoogleRequest {
  action: string;
  /** "global", or in the form "zones/a" and "regions/b". */
  scope: string;
  /** Name of the object; "" for a list. */
  name: string;
  query: Record<string, string>;
  body: Record<string, unknown>;
}

interface Action {
  form: RegExp;
  query?: readonly string[];
  body?: z.ZodType;
  /** The schema of the body in Google's description. */
  schema?: string;
}

const name = z.string().regex(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
const template = z.string().regex(
  /^(https:\/\/(www|compute)\.googleapis\.com\/compute\/v1\/)?projects\/[^/]+\/(global|regions\/[^/]+)\/instanceTemplates\/[^/]+$/,
);
const instance = z.string().regex(
  /^(https:\/\/(www|compute)\.googleapis\.com\/compute\/v1\/projects\/[^/]+\/)?zones\/[^/]+\/instances\/[^/]+$/,
);
const text = z.string();
const Disk = z.strictObject({
  ...{ kind: text.optional(), boot: z.boolean().optional(), index: z.number().int().optional() },
  ...{ autoDelete: z.boolean().optional(), deviceName: text.optional() },
  initializeParams: z.strictObject({
    ...{ sourceImage: text.optional(), diskSizeGb: text.optional() },
    resourceManagerTags: z.record(text, text).optional(),
  }).optional(),
  forceAttach: z.boolean().optional(),
});
const Properties = z.strictObject({
  ...{ labels: z.record(text, text), machineType: text, canIpForward: z.boolean().optional() },
  networkInterfaces: z.array(z.strictObject({ kind: text.optional(), name: text.optional() })),
  disks: z.array(Disk).min(1),
  metadata: z.strictObject({
    ...{ kind: text.optional(), fingerprint: text.optional() },
    items: z.array(z.strictObject({ key: text, value: text })),
  }).optional(),
  resourceManagerTags: z.record(text, text).optional(),
  confidentialInstanceConfig: z.strictObject({ enableConfidentialCompute: z.boolean() }).optional(),
});
const size = z.strictObject({ fixed: z.number().int().optional(), percent: z.number().int().optional() });
const version = z.strictObject({ name: text.optional(), instanceTemplate: template, targetSize: size.optional() });
const versions = z.array(version).min(1);

const place = "(?<scope>(?:zones|regions)/[a-z0-9-]+)";
const last = "(?<name>[a-z]([-a-z0-9]{0,61}[a-z0-9])?)";
const manager = `${place}/instanceGroupManagers/${last}`;
const anywhere = "(?<scope>global|(?:zones|regions)/[a-z0-9-]+)";

const actions: Record<string, Action> = {
  "GET groups": {
    form: /^(?<scope>aggregated)\/instanceGroupManagers$/,
    query: ["returnPartialSuccess", "pageToken"],
  },
  "GET group": { form: new RegExp(`^${manager}$`) },
  "PATCH group": {
    form: new RegExp(`^${manager}$`),
    body: z.strictObject({ instanceTemplate: template, versions, fingerprint: text }),
    schema: "InstanceGroupManager",
  },
  "POST members": { form: new RegExp(`^${manager}/listManagedInstances$`), query: ["pageToken"] },
  "POST configs": { form: new RegExp(`^${manager}/listPerInstanceConfigs$`), query: ["pageToken"] },
  "POST create": {
    form: new RegExp(`^${manager}/createInstances$`),
    // Only names are allowed: any other field of an instance would make the group a stateful one.
    body: z.strictObject({ instances: z.array(z.strictObject({ name })).min(1) }),
  },
  "POST delete": {
    form: new RegExp(`^${manager}/deleteInstances$`),
    body: z.strictObject({ instances: z.array(instance).min(1), skipInstancesOnValidationError: z.literal(false) }),
  },
  "GET autoscalers": {
    form: /^(?<scope>aggregated)\/autoscalers$/,
    query: ["returnPartialSuccess", "pageToken"],
  },
  "GET autoscaler": { form: new RegExp(`^${place}/autoscalers/${last}$`) },
  "GET template": { form: new RegExp(`^${anywhere}/instanceTemplates/${last}$`) },
  "GET templates": {
    form: new RegExp(`^${anywhere}/instanceTemplates$`),
    query: ["fields", "pageToken"],
  },
  "DELETE template": { form: new RegExp(`^${anywhere}/instanceTemplates/${last}$`) },
  "POST template": {
    form: new RegExp(`^${anywhere}/instanceTemplates$`),
    body: z.strictObject({ name, description: text.optional(), properties: Properties }),
    schema: "InstanceTemplate",
  },
  "GET machine": { form: new RegExp(`^${place}/instances/${last}$`), query: ["fields"] },
  "GET machines": { form: new RegExp(`^${place}/instances$`), query: ["filter", "fields", "pageToken"] },
  "GET disks": { form: new RegExp(`^${place}/disks$`), query: ["filter", "fields", "pageToken"] },
  "GET operation": { form: new RegExp(`^${anywhere}/operations/${last}$`) },
};

/** Returns the parsed request; throws for an invalid one. */
export function judge({ method, url, text }: { method: string; url: string; text: string }): GoogleRequest {
  const { pathname, searchParams } = new URL(url);
  const root = `/compute/v1/projects/${project}/`;
  const path = pathname.startsWith(root) ? pathname.slice(root.length) : "";
  for (const [key, { form, query = [], body, schema }] of Object.entries(actions)) {
    const { groups } = form.exec(path) ?? {};
    if (!groups || !key.startsWith(`${method} `)) continue;
    const odd = [...searchParams.keys()].find((each) => !query.includes(each));
    if (odd !== undefined) throw new GoogleWrong(`${key} has no parameter "${odd}"`);
    const { scope = "", name = "" } = groups;
    const wrong = schema === undefined || text === "" ? [] : wrongFields(schema, JSON.parse(text));
    if (wrong.length > 0) throw new GoogleWrong(`${key}: ${wrong.join(", ")}`);
    return { action: key, scope, name, query: Object.fromEntries(searchParams), body: bodyOf(key, text, body) };
  }
  throw new GoogleWrong(`no ${method} ${pathname}`);
}

function bodyOf(key: string, text: string, schema: z.ZodType | undefined): Record<string, unknown> {
  if (!schema) {
    if (text !== "") throw new GoogleWrong(`${key} has no body`);
    return {};
  }
  const { success, data, error } = schema.safeParse(JSON.parse(text));
  if (success) return data as Record<string, unknown>;
  throw new GoogleWrong(
    `${key}: ${error.issues.map(({ path, message }) => `${path.join(".")} ${message}`).join(", ")}`,
  );
}

/**
 * The requests that Azure accepts, by its published description of Microsoft.Compute (2026-04-01), for the calls served
 * here. Any other path, parameter or field, a missing field, and a wrong type are errors.
 */

/** A request that Azure would refuse. */
export class AzureWrong extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

/**
 * The form of a value: a pattern of its text, a type, or the forms of its fields. A field whose name ends with `?` may
 * be missing, and `*` stands for any name.
 */
type Form = RegExp | "integer" | Form[] | { [field: string]: Form };

interface Action {
  method: string;
  path: RegExp;
  query?: Record<string, RegExp>;
  body?: Form;
}

export interface Asked {
  action: string;
  /** Name of the set, and ID of one of its instances; "" if the path has none. */
  set: string;
  id: string;
  skip: number;
  isExpanded: boolean;
  body: Record<string, unknown>;
  ifMatch: string | null;
}

const text = /^[^]+$/;
const place = "^/subscriptions/[^/]+/resourcegroups/[^/]+/providers/microsoft\\.compute/virtualmachinescalesets";
const [list, one] = [new RegExp(`${place}$`), `${place}/(?<set>[a-z0-9_.-]{1,64})`];
const skip = { "$skiptoken": /^\d+$/ };

const imageReference = {
  ...{ "id?": /^\/subscriptions\/.+/, "publisher?": text, "offer?": text, "sku?": text, "version?": text },
  ...{ "sharedGalleryImageId?": /^\/SharedGalleries\/.+/i, "communityGalleryImageId?": /^\/CommunityGalleries\/.+/i },
};

const actions: Record<string, Action> = {
  list: { method: "GET", path: list, query: skip },
  get: { method: "GET", path: new RegExp(`${one}$`) },
  update: {
    method: "PATCH",
    path: new RegExp(`${one}$`),
    body: {
      "tags?": { "*": /^[^]{0,256}$/ },
      "sku?": { "name?": text, "tier?": text, "capacity?": "integer" },
      "properties?": { "virtualMachineProfile?": { "storageProfile?": { "imageReference?": imageReference } } },
    },
  },
  view: { method: "GET", path: new RegExp(`${one}/instanceview$`) },
  delete: {
    method: "POST",
    path: new RegExp(`${one}/delete$`),
    query: { forceDeletion: /^(true|false)$/ },
    body: { instanceIds: [/^\d+$/] },
  },
  vms: {
    method: "GET",
    path: new RegExp(`${one}/virtualmachines$`),
    query: { ...skip, "$filter": text, "$select": text, "$expand": /^instanceView$/ },
  },
  vm: {
    method: "GET",
    path: new RegExp(`${one}/virtualmachines/(?<id>\\d+)$`),
    query: { "$expand": /^(instanceView|userData)$/ },
  },
};

/** Throws for an invalid request. */
export function judge(request: Request, sent: string): Asked {
  const { pathname, searchParams } = new URL(request.url);
  const path = decodeURIComponent(pathname).toLowerCase();
  const [action, { query = {}, body: form, path: pattern }] =
    Object.entries(actions).find(([, each]) => each.method === request.method && each.path.test(path)) ??
      wrong(`nothing at ${request.method} ${path}`);
  if (searchParams.get("api-version") !== "2026-04-01") wrong(`${action} of another version`);
  for (const [key, value] of searchParams) {
    if (key !== "api-version" && !query[key]?.test(value)) wrong(`${action} with parameter "${key}" of "${value}"`);
  }
  if (form === undefined && sent !== "") wrong(`${action} with a body`);
  const body = form === undefined ? {} : JSON.parse(sent) as Record<string, unknown>;
  if (form !== undefined) checkValue(action, form, body);
  checkTags(body["tags"]);
  const { set = "", id = "" } = pattern.exec(path)?.groups ?? {};
  const [skipped, isExpanded] = [
    Number(searchParams.get("$skiptoken") ?? 0),
    searchParams.get("$expand") === "instanceView",
  ];
  return { action, set, id, skip: skipped, isExpanded, body, ifMatch: request.headers.get("if-match") };
}

function checkValue(at: string, form: Form, value: unknown): void {
  const isRight = form === "integer"
    ? Number.isInteger(value)
    : form instanceof RegExp
    ? typeof value === "string" && form.test(value)
    : Array.isArray(form)
    ? Array.isArray(value)
    : typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isRight) wrong(`${at} of ${JSON.stringify(value)}`);
  if (Array.isArray(form)) { for (const each of value as unknown[]) checkValue(at, form[0] ?? text, each); }
  else if (typeof form === "object" && !(form instanceof RegExp)) {
    checkFields(at, form, value as Record<string, unknown>);
  }
}

function checkFields(at: string, form: { [field: string]: Form }, value: Record<string, unknown>): void {
  for (const [key, each] of Object.entries(value)) {
    checkValue(`${at}.${key}`, form[key] ?? form[`${key}?`] ?? form["*"] ?? wrong(`${at} has no "${key}"`), each);
  }
  const missing = Object.keys(form).find((key) => !/[?*]$/.test(key) && !(key in value));
  if (missing !== undefined) wrong(`${at} without "${missing}"`);
}

function checkTags(tags: unknown): void {
  const keys = Object.keys(tags ?? {});
  if (keys.length > 50 || keys.some((key) => key.length > 512 || /[<>%&\\?/]/.test(key))) wrong("wrong tags");
}

function wrong(message: string): never {
  throw new AzureWrong(400, "BadRequest", message);
}

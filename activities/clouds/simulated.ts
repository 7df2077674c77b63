/** The driver of the simulated cloud of demo and tests: plain JSON over HTTP, with the outcomes of real clouds. */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { refused, unavailable } from "../failures.ts";
import type { BootTemplate, CloudGroup, Driver, Instance, Ordered } from "./driver.ts";

/** Timeout of a request, in milliseconds. */
const patienceMs = 10_000;

const Group = z.object({
  ...{ id: z.string(), name: z.string(), autoscalerName: z.string(), role: z.enum(["Worker", "ControlPlane", ""]) },
  ...{ min: z.number(), max: z.number(), size: z.number(), rebalances: z.boolean().default(false) },
}).transform(({ rebalances, ...group }): CloudGroup => ({ ...group, ...(rebalances ? { rebalances } : {}) }));
const Groups = z.object({ groups: z.array(Group), isComplete: z.boolean() });

/** A template with all its fields, also those that this schema does not know, because a copy must keep them. */
const Template = z.object({ id: z.string(), fields: z.looseObject({ image: z.string() }) });
const Templates = z.object({ templates: z.array(Template) });
type Template = z.infer<typeof Template>;

const CloudInstance = z.object({
  ...{ providerId: z.string(), group: z.string(), node: z.string(), trouble: z.string(), zone: z.string() },
  state: z.enum(["Creating", "Ready", "Terminating", "Terminated", "Failed"]),
  ...{ template: Template, addresses: z.array(z.string()), token: z.string().optional() },
  ...{ isProtected: z.boolean(), since: z.string() },
});
const Instances = z.object({ instances: z.array(CloudInstance) });
const Refusal = z.object({ reason: z.string().default("Unknown"), says: z.string().default("no reason given") });

type Method = "GET" | "PUT" | "POST" | "DELETE";

interface Asked<T> {
  method?: Method;
  body?: object;
  schema: z.ZodType<T>;
  /** The action, in the words that follow "Failed to" in an error message. */
  attempt: string;
}

type Answer<T> = { is: "Done"; value: T } | { is: "Absent" } | { is: "NoCapacity"; says: string };

/** Returns the driver of the cloud at a URL; `signal` aborts its requests. */
export function simulatedCloud({ url, signal }: { url: string; signal?: AbortSignal }): Driver {
  const api = new Api(url, signal);
  const templateOf = async (group: string): Promise<Template> => {
    const attempt = `read the boot template of "${group}"`;
    const template = await api.need(`${pathOf(group)}/template`, { schema: Template, attempt });
    const { statefulDisk } = template.fields;
    if (statefulDisk === undefined) return template;
    const state = `its machines have stateful disk ${
      JSON.stringify(statefulDisk)
    }, which the removal of a machine destroys`;
    throw refused("CloudRefused", `Failed to use group "${group}": ${state}`);
  };
  const use = async (group: string, id: string): Promise<BootTemplate> => {
    const asked = { schema: Template, attempt: `set "${group}" to boot template "${id}"`, body: { id } };
    await api.need(`${pathOf(group)}/template`, { ...asked, method: "PUT" });
    // The result is what the group will really boot, not what was requested.
    const boots = await templateOf(group);
    if (boots.id !== id) {
      throw unavailable(`Failed to set "${group}" to boot template "${id}": it still boots "${boots.id}"`);
    }
    return bootOf(boots);
  };
  return {
    title: "the simulated cloud",
    capabilities: { orders: "Token", zones: "Ordered" },
    // Simulated machines start within seconds, and requests are free.
    lookEvery: 500,
    lagMs: 10_000,
    groups: () => api.need("/groups", { schema: Groups, attempt: "list groups" }),
    group: (group) => api.find(pathOf(group), { schema: Group, attempt: `read group "${group}"` }),
    template: async (group) => bootOf(await templateOf(group)),
    ensureImage: async ({ group, image }) => {
      const boots = await templateOf(group);
      if (boots.fields.image === image) return bootOf(boots);
      return await use(group, (await ensureListed(api, { group, image, like: boots })).id);
    },
    ensureTemplate: ({ group, template }) => use(group, template),
    ensureRebalancing: async ({ group, isOn }) => {
      const attempt = `${isOn ? "resume" : "suspend"} the rebalancing of "${group}"`;
      await api.find(`${pathOf(group)}/rebalancing`, { method: "PUT", body: { isOn }, schema: Group, attempt });
    },
    instances: async (group) => {
      const asked = { schema: Instances, attempt: `list the instances of "${group}"` };
      return (await api.need(`${pathOf(group)}/instances`, asked)).instances.map(instanceOf);
    },
    instance: async (providerId) => {
      const asked = { schema: CloudInstance, attempt: `read instance "${providerId}"` };
      const found = await api.find(`/instances/${encodeURIComponent(providerId)}`, asked);
      return found && instanceOf(found);
    },
    order: (asked) => order(api, asked),
    remove: async ({ providerId, shrinks }) => {
      const path = `/instances/${encodeURIComponent(providerId)}?shrinks=${shrinks}`;
      const asked = { method: "DELETE", schema: CloudInstance, attempt: `remove instance "${providerId}"` } as const;
      return await api.find(path, asked) ? "Going" : "Gone";
    },
  };
}

/**
 * Returns a template that differs from `like` only in its image: an existing template, or a new one after a check of
 * all its fields.
 */
async function ensureListed(
  api: Api,
  { group, image, like }: { group: string; image: string; like: Template },
): Promise<Template> {
  const path = `${pathOf(group)}/templates`;
  const fields = { ...like.fields, image };
  const attempt = `create a template of "${group}" with image "${image}"`;
  const { templates } = await api.need(path, { schema: Templates, attempt });
  const known = templates.find((each) => isDeepStrictEqual(each.fields, fields));
  if (known) return known;
  const made = await api.need(path, { method: "POST", body: { fields }, schema: Template, attempt });
  if (isDeepStrictEqual(made.fields, fields)) return made;
  const lost = Object.keys(fields).filter((key) => !isDeepStrictEqual(made.fields[key], like.fields[key]));
  const others = lost.filter((key) => key !== "image").map((key) => `"${key}"`);
  throw refused(
    "CloudRefused",
    `Failed to ${attempt}: the new template differs from the requested one in ${others.join(", ") || "its image"}`,
  );
}

async function order(api: Api, { group, ...body }: { group: string; token: string; zone?: string }): Promise<Ordered> {
  const attempt = `order an instance of "${group}"`;
  const asked = { method: "POST", body, schema: CloudInstance, attempt } as const;
  const answer = await api.ask(`${pathOf(group)}/instances`, asked);
  if (answer.is === "Done") return { outcome: "Ordered", instance: instanceOf(answer.value) };
  if (answer.is === "NoCapacity") return { outcome: "NoCapacity", says: answer.says };
  throw refused("CloudRefused", `Failed to ${attempt}: the group does not exist`);
}

class Api {
  constructor(private readonly url: string, private readonly signal: AbortSignal | undefined) {}

  /** Returns undefined if the object does not exist. */
  async find<T>(path: string, asked: Asked<T>): Promise<T | undefined> {
    const answer = await this.ask(path, asked);
    return answer.is === "Done" ? answer.value : undefined;
  }

  async need<T>(path: string, asked: Asked<T>): Promise<T> {
    const found = await this.find(path, asked);
    if (found === undefined) throw refused("CloudRefused", `Failed to ${asked.attempt}: the object does not exist`);
    return found;
  }

  async ask<T>(path: string, { method = "GET", body, schema, attempt }: Asked<T>): Promise<Answer<T>> {
    const { status, text } = await this.#send(path, { method, body, attempt });
    if (status === 404) return { is: "Absent" };
    if (status === 200) return { is: "Done", value: schema.parse(JSON.parse(text)) };
    if (status === 429 || status >= 500) throw unavailable(`Failed to ${attempt}: HTTP ${status}`);
    const { reason, says } = Refusal.parse(JSON.parse(text));
    if (reason === "NoCapacity") return { is: "NoCapacity", says };
    throw refused("CloudRefused", `Failed to ${attempt}: ${says}`);
  }

  async #send(
    path: string,
    { method, body, attempt }: { method: Method; body: object | undefined; attempt: string },
  ): Promise<{ status: number; text: string }> {
    const ended = [AbortSignal.timeout(patienceMs), ...(this.signal ? [this.signal] : [])];
    try {
      const sent = { method, signal: AbortSignal.any(ended), ...(body ? { body: JSON.stringify(body) } : {}) };
      const response = await fetch(`${this.url}${path}`, sent);
      return { status: response.status, text: await response.text() };
    } catch (error) {
      this.signal?.throwIfAborted();
      throw unavailable(`Failed to ${attempt}: ${error instanceof Error ? error.message : "no response"}`);
    }
  }
}

function pathOf(group: string): string {
  return `/groups/${encodeURIComponent(group)}`;
}

function bootOf({ id, fields: { image } }: Template): BootTemplate {
  return { id, image };
}

function instanceOf({ template, token, ...found }: z.infer<typeof CloudInstance>): Instance {
  return { ...found, image: template.fields.image, ...(token === undefined ? {} : { token }) };
}

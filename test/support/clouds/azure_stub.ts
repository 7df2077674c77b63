/**
 * The parts of Azure's scale sets that the driver uses, over HTTP, with the simulated cloud as their state. Written
 * from Azure's published description and not run against the real cloud. Where that description is unclear, the double
 * takes the reading that is worst for the driver. The double has no TLS, so clients send it no credentials. It keeps
 * connections open.
 */
import { setTimeout as pass } from "node:timers/promises";
import { type CloudInstance, CloudRefusal, type GroupCloud } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import type { Befalls } from "../driver_conformance.ts";
import { type AzureConditions, AzureGround, idOf, lackCode, nameOf } from "./azure_ground.ts";
import { type Asked, AzureWrong, judge } from "./azure_requests.ts";
import { faultsOfAnswer, faultsOfRequest } from "./described/azure.ts";

type Group = ReturnType<GroupCloud["groups"]>[number];
type Reference = Record<string, string>;

const states = { Creating: "Creating", Ready: "Succeeded", Failed: "Failed", Terminating: "Deleting", Terminated: "" };

/** A server that answers like Azure; disposing of it fails if it got an invalid request. */
export class AzureStub implements AsyncDisposable {
  /** Actions in the order of the requests. */
  readonly calls: string[] = [];
  readonly ground: AzureGround;
  /** Returns the fault of the nth call, counted from 1. */
  fault: (nth: number, action: string) => Befalls | undefined = () => undefined;
  /** Returns the milliseconds after which the nth call is answered. */
  delay: (nth: number, action: string) => number = () => 0;
  /** Returns an error response for an action, which is then not executed; undefined executes the action. */
  refusal: (action: string) => { status: number; code: string; message?: string; after?: string } | undefined = () =>
    undefined;
  readonly #wrong: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(cloud: GroupCloud, conditions: AzureConditions) {
    this.ground = new AzureGround(cloud, conditions);
    const onError = (): Response => new Response(null, { status: 500 });
    const handler = (request: Request): Promise<Response> => this.#answer(request);
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {}, onError }, handler);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    if (this.#wrong.length > 0) throw new Error(`Azure would refuse: ${this.#wrong.join("; ")}`);
  }

  async #answer(request: Request): Promise<Response> {
    try {
      const { method, url } = request;
      const text = await request.text();
      const asked = judge(request, text);
      this.#wrong.push(...faultsOfRequest({ method, url, text }));
      this.calls.push(asked.action);
      await pass(this.delay(this.calls.length, asked.action));
      const fault = this.fault(this.calls.length, asked.action);
      if (fault === "CutBefore") return cut();
      if (fault === "Throttled") return failed(429, "TooManyRequests", "slow down", { "retry-after": "60" });
      if (fault === "Broken") return failed(500, "InternalServerError", "it broke");
      const no = this.refusal(asked.action);
      if (no) {
        const headers = no.after === undefined ? {} : { "retry-after": no.after };
        return failed(no.status, no.code, no.message ?? "the operation is not allowed", headers);
      }
      const answer = this.#do(asked, new URL(url));
      await this.#judge(request, answer.clone());
      return fault === "CutAfter" ? cut() : answer;
    } catch (error) {
      if (!(error instanceof AzureWrong)) throw error;
      if (error.status === 400) this.#wrong.push(error.message);
      return failed(error.status, error.code, error.message);
    }
  }

  async #judge(asked: Request, answer: Response): Promise<void> {
    const body = await answer.text();
    const faults = faultsOfAnswer(asked, { status: answer.status, body: body === "" ? undefined : JSON.parse(body) });
    this.#wrong.push(...faults.map((fault) => `wrong answer of the double: ${fault}`));
  }

  #do(asked: Asked, url: URL): Response {
    const { ground } = this;
    if (asked.action === "list") return this.#page(ground.cloud.groups().map((each) => this.#set(each)), asked, url);
    const group = ground.group(asked.set);
    const vms = (): { instanceId: string }[] => ground.visible(group).map((each) => this.#vm(each, asked.isExpanded));
    switch (asked.action) {
      case "update":
        return this.#update(group, asked);
      case "delete":
        ground.checkIdle(group);
        for (const id of asked.body["instanceIds"] as string[]) ground.delete(group, id);
        ground.noteChange(group);
        return json({ status: 202, headers: { location: `${this.url}/operations/1` } });
      case "view":
        return json({ body: { statuses: [this.#statusOf(ground.isFailed(group))] } });
      case "vms":
        return this.#page(vms(), asked, url);
      case "vm":
        return json({ body: vms().find(({ instanceId }) => instanceId === asked.id) ?? absent(asked.id) });
      default:
        return json({ body: this.#set(group) });
    }
  }

  #update(group: Group, { body, ifMatch }: Asked): Response {
    const { ground } = this;
    ground.checkIdle(group);
    if (ifMatch !== null && ifMatch !== ground.etagOf(group)) {
      throw new AzureWrong(412, "PreconditionFailed", "it was changed meanwhile");
    }
    const { sku, tags, properties } = body as {
      sku?: { capacity?: number };
      tags?: Record<string, string>;
      properties?: { virtualMachineProfile?: { storageProfile?: { imageReference?: Reference } } };
    };
    try {
      this.#boot(group, properties?.virtualMachineProfile?.storageProfile?.imageReference);
      ground.noteChange(group);
      if (sku?.capacity !== undefined) ground.resize(group, sku.capacity);
    } catch (error) {
      if (!(error instanceof CloudRefusal)) throw error;
      if (error.reason === "NoCapacity") {
        throw new AzureWrong(409, "OperationNotAllowed", `exceeds Quota: ${error.message}`);
      }
      throw new AzureWrong(404, "ImageNotFound", error.message);
    }
    if (tags) ground.setTags(group, tags);
    return json({ body: this.#set(group), headers: { "azure-asyncoperation": `${this.url}/operations/1` } });
  }

  /** Makes a set boot an image. Azure has no templates, so equal images are one template of the simulated cloud. */
  #boot(group: Group, reference: Reference | undefined): void {
    if (!reference) return;
    const image = reference["id"] ??
      [reference["publisher"], reference["offer"], reference["sku"], reference["version"]].join(":");
    const known = group.templates.find(({ fields }) => fields.image === image);
    const { id } = known ?? this.ground.cloud.addTemplate(group, { ...group.boots.fields, image });
    this.ground.cloud.useTemplate(group, id);
  }

  #set(group: Group): object {
    const { ground } = this;
    const imageReference = referenceOf(group.boots.fields.image);
    return {
      ...{ id: group.id, name: nameOf(group.id), location: "westeurope", etag: ground.etagOf(group) },
      ...{ tags: ground.tagsOf(group), sku: { name: "Standard_D4s_v5", tier: "Standard", capacity: group.size } },
      properties: {
        ...{ orchestrationMode: "Uniform", overprovision: false, upgradePolicy: { mode: "Manual" } },
        ...{ provisioningState: this.#stateOf(group), ...ground.conditions.properties },
        virtualMachineProfile: { storageProfile: { imageReference } },
      },
    };
  }

  #stateOf(group: Group): string {
    if (this.ground.isBusy(group)) return "Updating";
    return this.ground.isFailed(group) ? "Failed" : "Succeeded";
  }

  #vm(instance: CloudInstance, isExpanded: boolean): { instanceId: string } {
    const state = this.ground.stateOf(instance);
    const code = `PowerState/${state === "Ready" ? "running" : "starting"}`;
    // Azure reports no power state of a machine that it could not create.
    const power = state === "Failed" ? [] : [{ code, level: "Info" }];
    const statuses = [this.#statusOf(instance.trouble !== ""), ...power];
    const imageReference = referenceOf(instance.template.fields.image);
    const properties = {
      ...{ provisioningState: states[state], timeCreated: instance.since },
      ...{ osProfile: { computerName: instance.node.toUpperCase() }, storageProfile: { imageReference } },
      ...(isExpanded ? { instanceView: { statuses } } : {}),
      protectionPolicy: { protectFromScaleIn: instance.isProtected },
    };
    return { ...{ instanceId: idOf(instance), location: "westeurope", zones: [instance.zone] }, ...{ properties } };
  }

  #statusOf(isFailed: boolean): object {
    return isFailed
      ? { code: lackCode, level: "Error", message: "there is no room" }
      : { code: "ProvisioningState/succeeded", level: "Info" };
  }

  /** Two items per page, so that a client that reads only the first page fails its test. */
  #page(all: object[], { skip }: Asked, url: URL): Response {
    const next = new URL(`${url.pathname}${url.search}`, this.url);
    next.searchParams.set("$skiptoken", String(skip + 2));
    const nextLink = skip + 2 < all.length ? { nextLink: next.href } : {};
    return json({ body: { value: all.slice(skip, skip + 2), ...nextLink } });
  }
}

function referenceOf(image: string): Reference {
  const [publisher = "", offer = "", sku = "", version = ""] = image.split(":");
  return image.startsWith("/") ? { id: image } : { publisher, offer, sku, version };
}

function absent(id: string): never {
  throw new AzureWrong(404, "NotFound", `no instance ${id}`);
}

function failed(status: number, code: string, message: string, headers: Record<string, string> = {}): Response {
  return json({ status, headers, body: { error: { code, message } } });
}

function json(
  { status = 200, body, headers = {} }: { status?: number; body?: object; headers?: Record<string, string> },
): Response {
  const init = { status, headers };
  return body === undefined ? new Response(null, init) : Response.json(body, init);
}

/** An interrupted body, so that the client sees its connection end. */
function cut(): Response {
  const body = new ReadableStream({ start: (stream) => stream.error(new Error("cut off")) });
  return new Response(body, { headers: { "content-length": "1000" } });
}

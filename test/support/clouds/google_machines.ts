/** Instance templates, virtual machines and their disks over the simulated cloud. */
import { type CloudInstance, CloudRefusal } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import { type GoogleGround, GoogleNo, project, urlOf } from "./google_ground.ts";
import { without } from "../../../activities/clouds/without.ts";
import { markedPaths } from "./google_description.ts";
import { selected } from "./google_fields.ts";
import { scopeOf } from "./google_managers.ts";
import { type GoogleRequest, GoogleWrong } from "./google_requests.ts";

const statuses = {
  ...{ Creating: "STAGING", Ready: "RUNNING", Terminating: "STOPPING", Terminated: "TERMINATED", Failed: "TERMINATED" },
};

interface Properties {
  [field: string]: unknown;
  labels: Record<string, string>;
  disks: { boot?: boolean; initializeParams?: { sourceImage?: string } }[];
}

export class GoogleMachinesStub {
  constructor(private readonly ground: GoogleGround) {}

  template({ scope, name }: GoogleRequest): object {
    const found = this.ground.templates(scope).find((each) => each.name === name);
    if (!found) throw new GoogleNo(404, "notFound", `The resource '${scope}/instanceTemplates/${name}' was not found`);
    const selfLink = urlOf(this.ground.templatePath(found.template));
    // Paths of fields that Google accepts and stores but never shows; the parameters of disks are an exception.
    const hidden = markedPaths("InstanceProperties", "Input").filter((path) => path !== "disks.initializeParams");
    const properties = without(this.ground.propertiesOf(found.group, found.template), hidden);
    return {
      kind: "compute#instanceTemplate",
      id: "3",
      name,
      selfLink,
      description: found.template.fields["description"],
      properties,
    };
  }

  templates({ scope, query }: GoogleRequest): unknown {
    const all = this.ground.templates(scope).map(({ name, group, template }) => ({
      ...{ name, selfLink: urlOf(this.ground.templatePath(template)), creationTimestamp: this.ground.madeTemplatesAt },
      properties: { labels: this.ground.propertiesOf(group, template)["labels"] },
    }));
    const at = Number(query["pageToken"] ?? 0);
    return { items: all.slice(at, at + 2), ...(at + 2 < all.length ? { nextPageToken: String(at + 2) } : {}) };
  }

  deleteTemplate({ scope, name }: GoogleRequest): void {
    const found = this.ground.templates(scope).find((each) => each.name === name);
    if (!found) throw new GoogleNo(404, "notFound", `The resource '${scope}/instanceTemplates/${name}' was not found`);
    const { group, template } = found;
    if (group.boots === template) {
      throw new GoogleNo(400, "resourceInUseByAnotherResource", `The template '${name}' is already being used`);
    }
    group.templates.splice(group.templates.indexOf(template), 1);
  }

  insert({ scope, body }: GoogleRequest): void {
    const { name, description, properties } = body as { name: string; description?: string; properties: Properties };
    if (this.ground.templates(scope).some((each) => each.name === name)) {
      throw new GoogleNo(409, "alreadyExists", `The resource '${scope}/instanceTemplates/${name}' already exists`);
    }
    const groupName = properties.labels["constellation-node-group"];
    const group = this.ground.cloud.groups().find((each) => each.name === groupName);
    if (!group) throw new GoogleWrong(`a template for no group: "${groupName}"`);
    const image = properties.disks.find(({ boot }) => boot)?.initializeParams?.sourceImage ?? "";
    try {
      const made = this.ground.cloud.addTemplate(group, {
        image,
        description,
        properties: this.ground.stored(properties),
      });
      this.ground.name(made, name);
    } catch (error) {
      if (!(error instanceof CloudRefusal)) throw error;
      const field = "resource.properties.disks[0].initializeParams.sourceImage";
      const says = `Invalid value for field '${field}': '${image}'. The referenced image resource cannot be found.`;
      throw new GoogleNo(400, "invalid", says);
    }
  }

  machine({ scope, name, query }: GoogleRequest): unknown {
    const found = this.#in(scope).find(({ node }) => node === name);
    if (!found) throw new GoogleNo(404, "notFound", `The resource '${scope}/instances/${name}' was not found`);
    return partly(this.#vm(found), query);
  }

  machines({ scope, query }: GoogleRequest): unknown {
    const names = namesIn(query);
    return page(this.#in(scope).filter(({ node }) => names.includes(node)).map((each) => this.#vm(each)), query);
  }

  disks({ scope, query }: GoogleRequest): unknown {
    const names = namesIn(query);
    const own = this.#in(scope).filter((each) => names.includes(diskOf(each)));
    const disk = (each: CloudInstance): object => {
      return { name: diskOf(each), sourceImage: urlOf(each.template.fields.image), sizeGb: "10" };
    };
    return page(own.map(disk), query);
  }

  #in(scope: string): CloudInstance[] {
    return this.ground.visible().filter((each) => scope === `zones/${each.zone}` && this.ground.isMade(each));
  }

  #vm(each: CloudInstance): object {
    const group = this.ground.cloud.group(each.group);
    const maker = `projects/1234/${group ? scopeOf(group) : ""}/instanceGroupManagers/${each.group.split("/").at(-1)}`;
    const items = [{ key: "created-by", value: maker }, { key: "user-data", value: each.template.fields["userData"] }];
    // Google returns times in its local zone.
    const there = new Date(Date.parse(each.since) - 8 * 3_600_000).toISOString().replace("Z", "-08:00");
    return {
      ...{ kind: "compute#instance", id: "7", name: each.node, status: statuses[each.state], creationTimestamp: there },
      ...{ deletionProtection: each.isProtected, metadata: { fingerprint: "x=", items } },
      networkInterfaces: [{ name: "nic0", networkIP: each.addresses[0] }],
      disks: [
        { boot: true, source: urlOf(`projects/${project}/zones/${each.zone}/disks/${diskOf(each)}`) },
        { boot: false, source: urlOf(`projects/${project}/zones/${each.zone}/disks/${each.node}-state`) },
      ],
    };
  }
}

/**
 * Returns the name of the boot disk, which differs from the machine's name, because clients must not rely on equal
 * names.
 */
function diskOf({ node }: CloudInstance): string {
  return `${node}-boot`;
}

function namesIn({ filter = "" }: Record<string, string>): string[] {
  const terms = filter.split(" OR ").map((term) => /^\(name = "([a-z0-9-]+)"\)$/.exec(term)?.[1]);
  return terms.map((name) => {
    if (name === undefined) throw new GoogleWrong(`not a supported filter: ${filter}`);
    return name;
  });
}

function page(all: object[], query: Record<string, string>): unknown {
  const at = Number(query["pageToken"] ?? 0);
  const next = at + 2 < all.length ? { nextPageToken: String(at + 2) } : {};
  return partly({ kind: "list", items: all.slice(at, at + 2), ...next }, query);
}

function partly(value: object, { fields }: Record<string, string>): unknown {
  return fields === undefined ? value : selected(value, fields);
}

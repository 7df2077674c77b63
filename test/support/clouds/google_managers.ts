/** Managers of instance groups over the simulated cloud. */
import { type CloudInstance, CloudRefusal } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import { type GoogleGround, GoogleNo, type Group, isGoing, pathIn, project, urlOf } from "./google_ground.ts";
import type { GoogleRequest } from "./google_requests.ts";

const statuses = {
  ...{ Creating: "STAGING", Ready: "RUNNING", Terminating: "STOPPING", Terminated: "TERMINATED", Failed: "TERMINATED" },
};

export class GoogleManagersStub {
  constructor(private readonly ground: GoogleGround) {}

  groups({ query }: GoogleRequest): object {
    // One item per page, so that a client that reads only the first page fails its test.
    const all = this.ground.cloud.groups();
    const at = Number(query["pageToken"] ?? 0);
    const own = all.slice(at, at + 1).map((group) => [scopeOf(group), [this.#shown(group)]] as const);
    const shown = own.map(([scope, instanceGroupManagers]) => [scope, { instanceGroupManagers }]);
    const code = this.ground.conditions.isPartial ? "UNREACHABLE" : "NO_RESULTS_ON_PAGE";
    const empty = { warning: { code, message: "There are no results for this scope" } };
    const next = at + 1 < all.length ? { nextPageToken: String(at + 1) } : {};
    return { items: { "zones/elsewhere": empty, ...Object.fromEntries(shown) }, ...next };
  }

  group({ scope, name }: GoogleRequest): object {
    return this.#shown(this.ground.groupAt(scope, name));
  }

  patch({ scope, name, body }: GoogleRequest): void {
    const group = this.ground.groupAt(scope, name);
    const { versions, fingerprint } = body as { versions: { instanceTemplate: string }[]; fingerprint: string };
    if (fingerprint !== this.ground.fingerprintOf(group)) {
      throw new GoogleNo(412, "conditionNotMet", "Invalid fingerprint.");
    }
    // The list of versions wins over the field `instanceTemplate` when both are set.
    const path = pathIn(versions[0]?.instanceTemplate ?? "");
    const found = this.ground.templates(this.ground.templateScope).find(({ template }) =>
      this.ground.templatePath(template) === path
    );
    if (!found) throw new GoogleNo(400, "invalid", `The resource '${path}' was not found`);
    this.ground.write(group);
    group.boots = found.template;
  }

  members({ scope, name, query }: GoogleRequest): object {
    const group = this.ground.groupAt(scope, name);
    const own = this.ground.listed().filter((each) => each.group === group.id);
    const all = [...own, ...[...this.ground.unfilled.values()].filter((each) => each.group === group)];
    const at = Number(query["pageToken"] ?? 0);
    const next = at + 2 < all.length ? { nextPageToken: String(at + 2) } : {};
    const shown = all.slice(at, at + 2).map((each) => "looks" in each ? this.#unfilled(each) : this.#member(each));
    return { managedInstances: shown, ...next };
  }

  /**
   * Lists the per-instance configs: one for each instance that was created by name, and those of the test's conditions.
   */
  configs({ scope, name, query }: GoogleRequest): object {
    const { configs = () => [] } = this.ground.conditions;
    const group = this.ground.groupAt(scope, name);
    const all = [...configs(group), ...this.#named(group).map((each) => ({ name: each, preservedState: {} }))];
    const at = Number(query["pageToken"] ?? 0);
    const next = at + 1 < all.length ? { nextPageToken: String(at + 1) } : {};
    return { items: all.slice(at, at + 1), ...next };
  }

  #named({ id }: Group): string[] {
    return this.ground.cloud.instances(id).filter(({ token }) => token !== undefined).map(({ node }) => node);
  }

  create({ scope, name, body }: GoogleRequest): void {
    const group = this.ground.groupAt(scope, name);
    this.#say(this.ground.conditions.saysNo?.create);
    const [asked = { name: "" }] = body["instances"] as { name: string }[];
    const isTaken = this.ground.cloud.instances().some(({ node, state }) =>
      node === asked.name && state !== "Terminated"
    );
    if (isTaken || this.ground.unfilled.has(asked.name)) {
      throw new GoogleNo(409, "alreadyExists", `The resource '${asked.name}' already exists`);
    }
    try {
      this.ground.cloud.order(group, asked.name).node = asked.name;
      this.ground.write(group);
    } catch (error) {
      if (!(error instanceof CloudRefusal)) throw error;
      if (error.reason !== "NoCapacity") throw new GoogleNo(403, "limitExceeded", error.message);
      // Google accepts an order although there is no capacity, and retries it.
      group.size += 1;
      this.ground.unfilled.set(asked.name, { group, name: asked.name, looks: 0 });
    }
  }

  delete({ scope, name, body }: GoogleRequest): void {
    const group = this.ground.groupAt(scope, name);
    this.#say(this.ground.conditions.saysNo?.delete);
    const names = (body["instances"] as string[]).map((url) => url.slice(url.lastIndexOf("/") + 1));
    const own = names.map((each) =>
      this.ground.unfilled.get(each) ??
        this.ground.cloud.instances(group.id).find((instance) => instance.node === each && !isGoing(instance))
    );
    if (own.some((each) => each === undefined)) {
      throw new GoogleNo(400, "invalid", "Instance is not a member of the group, or is being deleted");
    }
    this.ground.write(group);
    for (const each of own) {
      if (each && "looks" in each) {
        this.ground.unfilled.delete(each.name);
        group.size -= 1;
      } else if (each) this.ground.cloud.remove(each.providerId, true);
    }
  }

  /**
   * Lists the autoscalers of all groups except for the last, two on each page; reports that the zone "elsewhere" did
   * not respond.
   */
  autoscalers({ query }: GoogleRequest): object {
    const all = this.ground.cloud.groups().slice(0, -1);
    const at = Number(query["pageToken"] ?? 0);
    const next = at + 2 < all.length ? { nextPageToken: String(at + 2) } : {};
    const own = all.slice(at, at + 2).map((group) => [group.id, { autoscalers: [this.#scaler(group)] }]);
    return { items: Object.fromEntries(own), unreachables: ["zones/elsewhere"], ...next };
  }

  autoscaler({ scope, name }: GoogleRequest): object {
    return this.#scaler(this.ground.groupAt(scope, name));
  }

  #scaler(group: Group): object {
    const { autoscaler = "OFF" } = this.ground.conditions;
    const name = nameOf(group);
    const selfLink = urlOf(`projects/${project}/${scopeOf(group)}/autoscalers/${name}`);
    const policy = { minNumReplicas: group.min, maxNumReplicas: group.max, mode: autoscaler };
    return { name, selfLink, autoscalingPolicy: policy };
  }

  #say(reason: string | undefined): void {
    const status = { invalid: 400, conflict: 409 }[reason ?? ""] ?? 403;
    if (reason !== undefined) throw new GoogleNo(status, reason, "not now");
  }

  #shown(group: Group): object {
    const kind = scopeOf(group).startsWith("zones/") ? "zone" : "region";
    const name = nameOf(group);
    const instanceTemplate = urlOf(this.ground.templatePath(group.boots));
    const own = urlOf(`projects/${project}/${scopeOf(group)}`);
    return {
      ...{ kind: "compute#instanceGroupManager", id: "1", name, baseInstanceName: group.name },
      ...{ selfLink: `${own}/instanceGroupManagers/${name}`, [kind]: own },
      ...{ instanceTemplate, versions: [{ name: "first", instanceTemplate, ...sized(group) }], targetSize: group.size },
      fingerprint: this.ground.fingerprintOf(group),
      // Google's description does not define whether a per-instance config without entries makes a group stateful, so
      // the double assumes that it does.
      status: {
        ...{ isStable: true, autoscaler: `${own}/autoscalers/${name}` },
        stateful: { hasStatefulConfig: this.#named(group).length > 0, perInstanceConfigs: { allEffective: true } },
      },
      updatePolicy: { type: "OPPORTUNISTIC", instanceRedistributionType: "NONE", minimalAction: "REPLACE" },
      ...this.ground.conditions.manager?.(group),
    };
  }

  #member(each: CloudInstance): object {
    this.ground.look(each);
    const isMade = this.ground.isMade(each);
    const action = isGoing(each) ? "DELETING" : each.state === "Creating" ? "CREATING" : "NONE";
    const health = each.trouble ? "UNHEALTHY" : "HEALTHY";
    return {
      ...{ name: each.node, instance: urlOf(this.ground.instancePath(each)), currentAction: action },
      ...(isMade ? { id: "7", instanceStatus: statuses[each.state] } : {}),
      // Google returns no template of an instance that is being deleted.
      version: isGoing(each) ? {} : { instanceTemplate: urlOf(this.ground.templatePath(each.template)) },
      instanceHealth: [{ detailedHealthState: health }],
      ...this.ground.conditions.member?.(each),
    };
  }

  #unfilled(each: { group: Group; name: string; looks: number }): object {
    const { group: { zones: [zone = ""], boots }, name } = each;
    each.looks += 1;
    const error = { code: "ZONE_RESOURCE_POOL_EXHAUSTED", message: `zone '${zone}' has not enough resources` };
    return {
      ...{ name, instance: urlOf(this.ground.instancePath({ zone, node: name })), currentAction: "CREATING" },
      version: { instanceTemplate: urlOf(this.ground.templatePath(boots)) },
      lastAttempt: each.looks > 1 ? { errors: { errors: [error] } } : {},
    };
  }
}

/** Returns the scope of a group in the form "zones/a". */
export function scopeOf({ id }: Group): string {
  return id.split("/").slice(2, 4).join("/");
}

function nameOf({ id }: Group): string {
  return id.slice(id.lastIndexOf("/") + 1);
}

/**
 * Returns the size of a group's only version: 100 % of the instances, and the number that Google calculates from that.
 */
function sized({ size }: Group): object {
  return { targetSize: { percent: 100, calculated: size } };
}

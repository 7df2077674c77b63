/** Groups of one cluster, identified by the labels of the template that they boot. */
import { refused } from "../../failures.ts";
import type { CloudGroup, FoundGroups } from "../driver.ts";
import type { GoogleApi } from "./api.ts";
import { clusterLabel, type Group, groupOf, stateOf, unrestOf } from "./group.ts";
import type { Autoscaler, GoogleManagers, Manager } from "./managers.ts";
import { groupIdOf, groupPlaceOf, lastOf, pathOf } from "./paths.ts";
import { type GoogleTemplates, templateOf } from "./templates.ts";

interface Ground {
  managers: GoogleManagers;
  templates: GoogleTemplates;
  clusterTag: string;
}

export class GoogleGroups {
  constructor(private readonly api: GoogleApi, private readonly ground: Ground) {}

  async list(): Promise<FoundGroups> {
    const { managers, isComplete } = await this.ground.managers.list();
    const isScaled = managers.some(({ status }) => status?.autoscaler);
    const autoscalers = isScaled ? await this.ground.managers.autoscalers() : undefined;
    const groups: CloudGroup[] = [];
    for (const manager of managers) {
      const group = await this.#own(manager, autoscalers);
      if (group) groups.push(groupOf(group, this.api.project));
    }
    return { groups, isComplete };
  }

  async find(id: string): Promise<Group | undefined> {
    const place = groupPlaceOf(id, this.api.project);
    const manager = place && await this.ground.managers.find(place);
    return manager && await this.#own(manager);
  }

  async need(id: string): Promise<Group> {
    const found = await this.find(id);
    if (found) return found;
    throw refused(
      "CloudRefused",
      `Failed to use instance group manager "${id}": this cluster does not have an instance group manager of that name`,
    );
  }

  /**
   * Returns the group. Throws Refused if it does not exist, cannot be rolled (`unrestOf`), or preserves state of its
   * instances.
   */
  async needSteady(id: string): Promise<Group> {
    const found = await this.need(id);
    const unrest = unrestOf(found) ?? await this.stateOf(found);
    if (unrest === undefined) return found;
    throw refused("CloudRefused", `Failed to use instance group manager "${id}": ${unrest}`);
  }

  /** Returns what the group preserves of its instances; undefined for a stateless group. */
  async stateOf(group: Group): Promise<string | undefined> {
    const isSuspect = group.manager.status?.stateful?.hasStatefulConfig ?? false;
    return stateOf(group, isSuspect ? await this.ground.managers.configs(group.place) : []);
  }

  /**
   * Returns the group of a manager; undefined for a group of another cluster, or a group whose template was deleted.
   */
  async #own(manager: Manager, autoscalers?: ReadonlyMap<string, Autoscaler>): Promise<Group | undefined> {
    const place = groupPlaceOf(manager.selfLink ?? "", this.api.project);
    const labels = (await this.ground.templates.facts(templateOf(manager)))?.labels;
    if (!place || labels?.[clusterLabel] !== this.ground.clusterTag) return undefined;
    const scaler = manager.status?.autoscaler;
    const autoscaler = scaler
      ? autoscalers?.get(pathOf(scaler)) ?? await this.ground.managers.autoscaler(place, lastOf(scaler))
      : undefined;
    return { place, id: groupIdOf(place, this.api.project), manager, labels, autoscaler };
  }
}

/** Instance group managers, whose requests differ between zones and regions. */
import type { compute_v1 } from "@googleapis/compute";
import type { GoogleApi } from "./api.ts";
import { type GroupPlace, pathOf } from "./paths.ts";
import type { Refusal } from "./refusal.ts";

export type Manager = compute_v1.Schema$InstanceGroupManager;
export type Managed = compute_v1.Schema$ManagedInstance;
export type Config = compute_v1.Schema$PerInstanceConfig;
export type Autoscaler = compute_v1.Schema$Autoscaler;

export class GoogleManagers {
  constructor(private readonly api: GoogleApi) {}

  /** Lists the managers of all zones and regions; `isComplete` is false if a zone or region did not answer. */
  async list(): Promise<{ managers: Manager[]; isComplete: boolean }> {
    let isComplete = true;
    const asked = { project: this.api.project, returnPartialSuccess: true };
    const managers = await this.api.all({
      attempt: "list instance group managers",
      page: ({ instanceGroupManagers }, next, options) =>
        instanceGroupManagers.aggregatedList({ ...asked, ...next }, options),
      of: ({ items, unreachables }) => {
        const scopes = Object.values(items ?? {});
        // A scope without managers has this warning; any other warning can mean that the list is incomplete.
        const isAsked = scopes.every(({ warning }) => (warning?.code ?? "NO_RESULTS_ON_PAGE") === "NO_RESULTS_ON_PAGE");
        isComplete &&= isAsked && (unreachables ?? []).length === 0;
        return scopes.flatMap(({ instanceGroupManagers }) => instanceGroupManagers ?? []);
      },
    });
    return { managers, isComplete };
  }

  /**
   * Lists the autoscalers of all zones and regions that answer, by path; autoscalers of the other zones and regions
   * must be read one by one.
   */
  async autoscalers(): Promise<Map<string, Autoscaler>> {
    const asked = { project: this.api.project, returnPartialSuccess: true };
    const found = await this.api.all({
      attempt: "list autoscalers",
      page: ({ autoscalers }, next, options) => autoscalers.aggregatedList({ ...asked, ...next }, options),
      of: ({ items }) => Object.values(items ?? {}).flatMap(({ autoscalers }) => autoscalers ?? []),
    });
    return new Map(found.map((each) => [pathOf(each.selfLink), each]));
  }

  find(place: GroupPlace): Promise<Manager | undefined> {
    const asked = this.#asked(place);
    return this.api.find({
      attempt: `read instance group manager "${place.name}"`,
      call: ({ instanceGroupManagers, regionInstanceGroupManagers }, options) =>
        "zone" in asked ? instanceGroupManagers.get(asked, options) : regionInstanceGroupManagers.get(asked, options),
    });
  }

  /** Lists the instances that the group has or will have, including those not created yet. */
  members(place: GroupPlace): Promise<Managed[]> {
    const asked = this.#asked(place);
    return this.api.all<{ managedInstances?: Managed[]; nextPageToken?: string | null }, Managed>({
      attempt: `list the instances of "${place.name}"`,
      page: ({ instanceGroupManagers, regionInstanceGroupManagers }, next, options) =>
        "zone" in asked
          ? instanceGroupManagers.listManagedInstances({ ...asked, ...next }, options)
          : regionInstanceGroupManagers.listManagedInstances({ ...asked, ...next }, options),
      of: ({ managedInstances }) => managedInstances ?? [],
    });
  }

  /** Lists the configurations of single instances; every instance that was created by name has one. */
  configs(place: GroupPlace): Promise<Config[]> {
    const asked = this.#asked(place);
    return this.api.all<{ items?: Config[]; nextPageToken?: string | null }, Config>({
      attempt: `list the per-instance configurations of "${place.name}"`,
      page: ({ instanceGroupManagers, regionInstanceGroupManagers }, next, options) =>
        "zone" in asked
          ? instanceGroupManagers.listPerInstanceConfigs({ ...asked, ...next }, options)
          : regionInstanceGroupManagers.listPerInstanceConfigs({ ...asked, ...next }, options),
      of: ({ items }) => items ?? [],
    });
  }

  /** Creates an instance by name and increases the group's size. */
  create(place: GroupPlace, name: string): Promise<Refusal | undefined> {
    // Sends only the name, because a preserved state would make the group stateful.
    const asked = { ...this.#asked(place), requestBody: { instances: [{ name }] } };
    return this.api.change({
      attempt: `order instance "${name}" of "${place.name}"`,
      call: ({ instanceGroupManagers, regionInstanceGroupManagers }, options) =>
        "zone" in asked
          ? instanceGroupManagers.createInstances(asked, options)
          : regionInstanceGroupManagers.createInstances(asked, options),
    });
  }

  /** Deletes instances and reduces the group's size; refused as a whole if one of them is being deleted already. */
  delete(place: GroupPlace, instances: string[]): Promise<Refusal | undefined> {
    const asked = { ...this.#asked(place), requestBody: { instances, skipInstancesOnValidationError: false } };
    return this.api.change({
      attempt: `remove an instance of "${place.name}"`,
      call: ({ instanceGroupManagers, regionInstanceGroupManagers }, options) =>
        "zone" in asked
          ? instanceGroupManagers.deleteInstances(asked, options)
          : regionInstanceGroupManagers.deleteInstances(asked, options),
    });
  }

  patch(place: GroupPlace, requestBody: Manager): Promise<Refusal | undefined> {
    const asked = { ...this.#asked(place), requestBody };
    return this.api.change({
      attempt: `change the template of "${place.name}"`,
      call: ({ instanceGroupManagers, regionInstanceGroupManagers }, options) =>
        "zone" in asked
          ? instanceGroupManagers.patch(asked, options)
          : regionInstanceGroupManagers.patch(asked, options),
    });
  }

  /** Returns the autoscaler of a group, also if its mode is OFF; undefined if the group has none. */
  autoscaler({ kind, where }: GroupPlace, name: string): Promise<Autoscaler | undefined> {
    const asked = { project: this.api.project, autoscaler: name };
    return this.api.find({
      attempt: `read autoscaler "${name}"`,
      call: ({ autoscalers, regionAutoscalers }, options) =>
        kind === "zones"
          ? autoscalers.get({ ...asked, zone: where }, options)
          : regionAutoscalers.get({ ...asked, region: where }, options),
    });
  }

  #asked({ kind, where, name }: GroupPlace): Of & ({ zone: string } | { region: string }) {
    const of = { project: this.api.project, instanceGroupManager: name };
    return kind === "zones" ? { ...of, zone: where } : { ...of, region: where };
  }
}

interface Of {
  project: string;
  instanceGroupManager: string;
}

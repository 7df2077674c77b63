/** Managers of instance groups: the same requests go one way for those of a zone, another for those of a region. */
import type { compute_v1 } from "@googleapis/compute";
import type { GoogleApi } from "./api.ts";
import { type GroupPlace, pathOf } from "./paths.ts";
import type { Refusal } from "./refusal.ts";

export type Manager = compute_v1.Schema$InstanceGroupManager;
export type Managed = compute_v1.Schema$ManagedInstance;
export type Autoscaler = compute_v1.Schema$Autoscaler;

export class GoogleManagers {
  constructor(private readonly api: GoogleApi) {}

  /** Of all zones and regions. Not complete where one of them did not answer. */
  async list(): Promise<{ managers: Manager[]; isComplete: boolean }> {
    let isComplete = true;
    const asked = { project: this.api.project, returnPartialSuccess: true };
    const managers = await this.api.all({
      attempt: "list instance group managers",
      page: ({ instanceGroupManagers }, next, options) =>
        instanceGroupManagers.aggregatedList({ ...asked, ...next }, options),
      of: ({ items, unreachables }) => {
        const scopes = Object.values(items ?? {});
        // Each scope without any has a warning that says so.
        const isAsked = scopes.every(({ warning }) => (warning?.code ?? "NO_RESULTS_ON_PAGE") === "NO_RESULTS_ON_PAGE");
        isComplete &&= isAsked && (unreachables ?? []).length === 0;
        return scopes.flatMap(({ instanceGroupManagers }) => instanceGroupManagers ?? []);
      },
    });
    return { managers, isComplete };
  }

  /** All that answer, by path: who is not among them has to be asked for. */
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

  /** What it has and is to have, also what has not been made yet. */
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

  /** Has one made by this name, its size with it. */
  create(place: GroupPlace, name: string): Promise<Refusal | undefined> {
    // Nothing is said of it but its name: a group that keeps more of an instance could do less with it.
    const asked = { ...this.#asked(place), requestBody: { instances: [{ name }] } };
    return this.api.change({
      attempt: `order instance "${name}" of "${place.name}"`,
      call: ({ instanceGroupManagers, regionInstanceGroupManagers }, options) =>
        "zone" in asked
          ? instanceGroupManagers.createInstances(asked, options)
          : regionInstanceGroupManagers.createInstances(asked, options),
    });
  }

  /** Has them deleted, its size with them; refused as a whole where one of them goes already. */
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

  /** The one that moves its size, or could; undefined where it has gone. */
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

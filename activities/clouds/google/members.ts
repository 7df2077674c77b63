/** Instances of groups: the group's list, joined with the existing machines. */
import type { Instance } from "../driver.ts";
import type { GoogleApi } from "./api.ts";
import type { Group } from "./group.ts";
import type { GoogleGroups } from "./groups.ts";
import { instanceOf } from "./instance_of.ts";
import type { GoogleMachines, Machine } from "./machines.ts";
import type { GoogleManagers, Managed } from "./managers.ts";
import { groupIdOf, machineAt, type MachinePlace, machinePlaceOf, makerOf, pathOf } from "./paths.ts";
import type { GoogleTemplates } from "./templates.ts";

/** An entry in a group's list, whose machine may not exist. */
export interface Member {
  place: MachinePlace;
  managed: Managed;
}

export interface Ground {
  managers: GoogleManagers;
  groups: GoogleGroups;
  templates: GoogleTemplates;
  machines: GoogleMachines;
}

export class GoogleMembers {
  constructor(private readonly api: GoogleApi, private readonly ground: Ground) {}

  async list(id: string): Promise<Instance[]> {
    const group = await this.ground.groups.need(id);
    const instances = await this.#seen(group, await this.#all(group));
    const order = ({ since, node }: Instance): string => `${since} ${node}`;
    return instances.sort((a, b) => order(a) < order(b) ? -1 : 1);
  }

  /**
   * Returns an instance. Its group is found by the metadata of the machine, so an instance without a machine is not
   * found.
   */
  async find(providerId: string): Promise<Instance | undefined> {
    const { project } = this.api;
    const place = machinePlaceOf(providerId, project);
    const maker = place && makerOf(await this.ground.machines.createdBy(place) ?? "", project);
    const group = maker && await this.ground.groups.find(groupIdOf(maker, project));
    const member = group && await this.one(group, place);
    return member && await this.see(group, member);
  }

  /** Returns the instance of the group with this name, and zone if given; undefined if the group has none. */
  async one(group: Group, { name, zone }: { name: string; zone?: string }): Promise<Member | undefined> {
    const all = await this.#all(group);
    return all.find(({ place }) => place.name === name && (zone === undefined || place.zone === zone));
  }

  async see(group: Group, member: Member): Promise<Instance | undefined> {
    return (await this.#seen(group, [member]))[0];
  }

  async #all({ place }: Group): Promise<Member[]> {
    const all = await this.ground.managers.members(place);
    return all.flatMap((managed) => {
      const at = machineAt(managed.instance);
      return at ? { place: at, managed } : [];
    });
  }

  async #seen(group: Group, members: readonly Member[]): Promise<Instance[]> {
    const machines = await this.ground.machines.list(members.map(({ place }) => place));
    const seen: Instance[] = [];
    for (const member of members) {
      const machine = machines.get(member.place.name);
      const image = await this.#image(member, machine);
      seen.push(instanceOf(group, { ...member, machine, image }, this.api.project));
    }
    return seen;
  }

  /** Returns the image of the boot disk; before the disk exists, the image of the template. */
  async #image({ managed: { version } }: Member, machine: Machine | undefined): Promise<string> {
    if (machine?.image) return machine.image;
    return (await this.ground.templates.facts(pathOf(version?.instanceTemplate)))?.image ?? "";
  }
}

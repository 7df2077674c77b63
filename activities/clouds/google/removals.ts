/** Deletes instances, each once: a group refuses to delete an instance that is being deleted. */
import { refused } from "../../failures.ts";
import { groupKeyOf } from "../driver.ts";
import type { GoogleApi } from "./api.ts";
import { type Group, hasState } from "./group.ts";
import { isLeaving } from "./instance_of.ts";
import type { GoogleMembers, Ground, Member } from "./members.ts";
import { nameOfSubstitute } from "./names.ts";
import { machinePlaceOf } from "./paths.ts";
import { failureOf } from "./refusal.ts";

interface Removal {
  group: string;
  providerId: string;
  shrinks: boolean;
}

export class GoogleRemovals {
  constructor(
    private readonly api: GoogleApi,
    private readonly ground: Ground,
    private readonly members: GoogleMembers,
  ) {}

  async remove({ group: id, providerId, shrinks }: Removal): Promise<"Going" | "Gone"> {
    const place = machinePlaceOf(providerId, this.api.project);
    if (!place) return "Gone";
    const group = await this.ground.groups.find(id);
    const member = group && await this.members.one(group, place);
    if (!member) return await this.#goneFrom(id, providerId);
    if (isLeaving(member.managed)) return "Going";
    const attempt = `remove instance "${providerId}"`;
    await this.#checkState(group, member, attempt);
    const refusal = await this.ground.managers.delete(group.place, await this.#leavers(group, member, shrinks));
    if (!refusal) return "Going";
    // Google also refuses if another client deleted the instance first.
    const after = await this.members.one(group, place);
    if (after && !isLeaving(after.managed)) throw failureOf(refusal, attempt);
    return after ? "Going" : "Gone";
  }

  /** Throws Refused if the group preserves state, which a removal would destroy or leave behind. */
  async #checkState(group: Group, { managed }: Member, attempt: string): Promise<void> {
    const own = hasState(managed) ? "its group preserves disks, addresses or metadata of the instance" : undefined;
    const state = own ?? await this.ground.groups.stateOf(group);
    if (state !== undefined) throw refused("CloudRefused", `Failed to ${attempt} of "${group.id}": ${state}`);
  }

  async #goneFrom(id: string, providerId: string): Promise<"Gone"> {
    const elsewhere = await this.members.find(providerId);
    if (!elsewhere || groupKeyOf(elsewhere.group) === groupKeyOf(id)) return "Gone";
    throw refused(
      "CloudRefused",
      `Failed to remove instance "${providerId}": the instance does not belong to group "${id}"`,
    );
  }

  /**
   * Returns the instances to delete. If the group must not shrink, first creates a substitute with another name,
   * because the group may otherwise reuse the name of the deleted instance, which makes both look the same. If the
   * group must shrink but an earlier attempt created a substitute, the substitute is deleted too.
   */
  async #leavers(group: Group, { place, managed }: Member, shrinks: boolean): Promise<string[]> {
    const base = group.manager.baseInstanceName ?? group.place.name;
    const name = nameOfSubstitute(group.id, { base, gone: place.name });
    const own = managed.instance ?? "";
    const substitute = await this.members.one(group, { name });
    if (shrinks) {
      return [own, ...(substitute && !isLeaving(substitute.managed) ? [substitute.managed.instance ?? ""] : [])];
    }
    const refusal = substitute ? undefined : await this.ground.managers.create(group.place, name);
    if (refusal && !await this.members.one(group, { name })) {
      throw failureOf(refusal, `create a substitute for instance "${place.name}" of "${group.id}"`);
    }
    return [own];
  }
}

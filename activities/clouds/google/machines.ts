/** Virtual machines of Google, with the image of their boot disk. */
import type { compute_v1 } from "@googleapis/compute";
import type { GoogleApi } from "./api.ts";
import { lastOf, type MachinePlace, pathOf } from "./paths.ts";

type Vm = compute_v1.Schema$Instance;

/** An existing machine. */
export interface Machine {
  vm: Vm;
  image: string;
}

/** Maximum number of names in one request, because the length of its URL is limited. */
const atOnce = 50;

/** Maximum number of machines with a cached image, including deleted ones. */
const mostKnown = 50_000;

/** Excludes metadata, which contains secrets; only `createdBy` reads it. */
const ofVm = "name,status,creationTimestamp,deletionProtection,networkInterfaces(networkIP),disks(boot,source)";

export class GoogleMachines {
  /** Images by a key that is unique even if the name of a machine is used again. */
  readonly #known = new Map<string, string>();

  constructor(private readonly api: GoogleApi) {}

  /** Returns the machines that exist at these places, by name. */
  async list(places: readonly MachinePlace[]): Promise<Map<string, Machine>> {
    const found = new Map<string, Machine>();
    for (const [zone, names] of byZone(places)) {
      const vms = await this.#vms(zone, names);
      const images = await this.#imagesOf(zone, vms);
      for (const vm of vms) found.set(vm.name ?? "", { vm, image: images.get(keyOf(zone, vm)) ?? "" });
    }
    return found;
  }

  /**
   * Returns the images of the boot disks by machine; reads each disk once, because the image of a disk never changes.
   */
  async #imagesOf(zone: string, vms: readonly Vm[]): Promise<Map<string, string>> {
    const found = new Map(vms.map((vm) => [keyOf(zone, vm), this.#known.get(keyOf(zone, vm)) ?? ""]));
    const strangers = vms.filter((vm) => !found.get(keyOf(zone, vm)));
    const images = await this.#images(zone, strangers.flatMap((vm) => bootDiskOf(vm) || []));
    if (this.#known.size > mostKnown) this.#known.clear();
    for (const vm of strangers) {
      const image = images.get(bootDiskOf(vm));
      if (!image) continue;
      for (const each of [found, this.#known]) each.set(keyOf(zone, vm), image);
    }
    return found;
  }

  /** Returns the creator from the machine's metadata; undefined for an absent machine or one without a creator. */
  async createdBy({ zone, name }: MachinePlace): Promise<string | undefined> {
    const asked = { project: this.api.project, zone, instance: name, fields: "metadata(items)" };
    const found = await this.api.find({
      attempt: `read instance "${name}"`,
      call: ({ instances }, options) => instances.get(asked, options),
    });
    return found?.metadata?.items?.find(({ key }) => key === "created-by")?.value;
  }

  async #vms(zone: string, names: readonly string[]): Promise<Vm[]> {
    const fields = `items(${ofVm}),nextPageToken`;
    return await this.#named(names, (filter) => {
      const asked = { project: this.api.project, zone, filter, fields };
      return this.api.all({
        attempt: `list instances of zone "${zone}"`,
        page: ({ instances }, next, options) => instances.list({ ...asked, ...next }, options),
        of: ({ items }) => items ?? [],
      });
    });
  }

  async #images(zone: string, names: readonly string[]): Promise<Map<string, string>> {
    const fields = "items(name,sourceImage),nextPageToken";
    const found = await this.#named(names, (filter) => {
      const asked = { project: this.api.project, zone, filter, fields };
      return this.api.all({
        attempt: `list disks of zone "${zone}"`,
        page: ({ disks }, next, options) => disks.list({ ...asked, ...next }, options),
        of: ({ items }) => items ?? [],
      });
    });
    return new Map(found.map(({ name, sourceImage }) => [name ?? "", pathOf(sourceImage)]));
  }

  async #named<T>(names: readonly string[], ask: (filter: string) => Promise<T[]>): Promise<T[]> {
    const found: T[] = [];
    for (let at = 0; at < names.length; at += atOnce) {
      found.push(...await ask(names.slice(at, at + atOnce).map((name) => `(name = "${name}")`).join(" OR ")));
    }
    return found;
  }
}

function keyOf(zone: string, vm: Vm): string {
  return [zone, vm.name, vm.creationTimestamp, bootDiskOf(vm)].join(" ");
}

function bootDiskOf({ disks }: Vm): string {
  return lastOf((disks?.find(({ boot }) => boot) ?? disks?.[0])?.source);
}

function byZone(places: readonly MachinePlace[]): Map<string, string[]> {
  const zones = new Map<string, string[]>();
  for (const { zone, name } of places) zones.set(zone, [...zones.get(zone) ?? [], name]);
  return zones;
}

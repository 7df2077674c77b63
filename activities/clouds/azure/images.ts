/** The image of a scale set, as one text. A scale set has no templates, so a rollback sets the previous image again. */
import type { ImageReference, VirtualMachineScaleSet } from "@azure/arm-compute";
import { refused, unavailable } from "../../failures.ts";
import type { BootTemplate } from "../driver.ts";
import { imageKeyOf, marketplaceImageOf, marketplaceNamesOf, marketplaceUriOf } from "../marketplace.ts";
import type { Place } from "./api.ts";
import { Patience } from "./patience.ts";
import { nameOf, type ScaleSets } from "./scale_sets.ts";

export class AzureImages {
  constructor(private readonly sets: ScaleSets, private readonly place: Place) {}

  /** Changes only the image; returns what the scale set will really boot, not what was requested. */
  ensure(order: { group: string; image: string }): Promise<BootTemplate> {
    return new Patience(this.place).through(() => this.#ensure(order));
  }

  async #ensure({ group, image }: { group: string; image: string }): Promise<BootTemplate> {
    const set = await this.sets.need(group);
    // Also validates an image that the set boots already, because no instance ever matches an image without a version.
    const imageReference = referenceOf(image);
    if (isSame(bootOf(set).image, image)) return bootOf(set);
    await this.sets.patch(set, { virtualMachineProfile: { storageProfile: { imageReference } } });
    const boots = bootOf(await this.sets.need(group));
    if (isSame(boots.image, image)) return boots;
    throw unavailable(`Failed to set "${nameOf(set)}" to boot "${image}": it still boots "${boots.image}"`);
  }
}

/** Returns the template that the set boots next, as Azure reports it. */
export function bootOf({ virtualMachineProfile }: VirtualMachineScaleSet): BootTemplate {
  const image = imageOf(virtualMachineProfile?.storageProfile?.imageReference);
  // Earlier versions of Ostler recorded such an ID, and refuse the URI: during an update they run beside this version.
  const named = marketplaceImageOf(image);
  return { id: named ? marketplaceNamesOf(named) : image, image };
}

/**
 * Returns the resource ID, else the ID in a gallery, else the four names of the marketplace as Constellation's URI;
 * "" without an image.
 */
export function imageOf(reference: ImageReference = {}): string {
  const { id, communityGalleryImageId, sharedGalleryImageId, publisher, offer, sku, version } = reference;
  const named = publisher && offer && sku && version ? marketplaceUriOf({ publisher, offer, sku, version }) : "";
  return id ?? communityGalleryImageId ?? sharedGalleryImageId ?? named;
}

/** Returns the image of an instance, for which Azure reports the exact version of "latest". */
export function bootedFrom(reference: ImageReference = {}): string {
  const { version, exactVersion } = reference;
  return imageOf(version === "latest" && exactVersion ? { ...reference, version: exactVersion } : reference);
}

function isSame(one: string, other: string): boolean {
  return imageKeyOf(one) === imageKeyOf(other);
}

function referenceOf(image: string): ImageReference {
  const attempt = `boot image "${image}"`;
  const isOpen = /\/images\/[^/]+$/i.test(image) && /\/galleries\/|^\/(community|shared)Galleries\//i.test(image);
  const named = marketplaceImageOf(image);
  if (isOpen || /[/:]latest$/i.test(image) || named?.version.toLowerCase() === "latest") {
    throw refused(
      "CloudRefused",
      `Failed to ${attempt}: the image does not name a version, so its meaning may change; name a version`,
    );
  }
  if (/^\/subscriptions\//i.test(image)) return { id: image };
  if (/^\/communityGalleries\//i.test(image)) return { communityGalleryImageId: image };
  if (/^\/sharedGalleries\//i.test(image)) return { sharedGalleryImageId: image };
  if (named) return { ...named };
  const state = "expected a resource ID, an ID in a community or shared gallery, publisher:offer:sku:version, or the " +
    "URI of Constellation for such an image";
  throw refused("CloudRefused", `Failed to ${attempt}: ${state}`);
}

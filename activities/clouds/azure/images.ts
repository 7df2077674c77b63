/** What a scale set boots. It has no templates: its image, as one text, is what can be gone back to. */
import type { ImageReference, VirtualMachineScaleSet } from "@azure/arm-compute";
import { refused, unavailable } from "../../failures.ts";
import type { BootTemplate } from "../driver.ts";
import { nameOf, type ScaleSets } from "./scale_sets.ts";

export class AzureImages {
  constructor(private readonly sets: ScaleSets) {}

  /** Changes its image and nothing else. Not what was asked for is told, but what it will do (K17). */
  async ensure({ group, image }: { group: string; image: string }): Promise<BootTemplate> {
    const set = await this.sets.need(group);
    // Also where it boots that already: no instance would ever be found to run what has no version.
    const imageReference = referenceOf(image);
    if (isSame(bootOf(set).image, image)) return bootOf(set);
    await this.sets.patch(set, { virtualMachineProfile: { storageProfile: { imageReference } } });
    const boots = bootOf(await this.sets.need(group));
    if (isSame(boots.image, image)) return boots;
    throw unavailable(`Failed to set "${nameOf(set)}" to boot "${image}": it still boots "${boots.image}"`);
  }
}

/** What it boots next, as it says it. */
export function bootOf({ virtualMachineProfile }: VirtualMachineScaleSet): BootTemplate {
  const image = imageOf(virtualMachineProfile?.storageProfile?.imageReference);
  return { id: image, image };
}

/** The resource id, else that of a gallery, else the four names of the marketplace as one text; "" for none. */
export function imageOf(reference: ImageReference = {}): string {
  const { id, communityGalleryImageId, sharedGalleryImageId, publisher, offer, sku, version } = reference;
  const named = [publisher, offer, sku, version];
  return id ?? communityGalleryImageId ?? sharedGalleryImageId ?? (named.every(Boolean) ? named.join(":") : "");
}

/** The same of an instance, of which it is known which version "latest" was. */
export function bootedFrom(reference: ImageReference = {}): string {
  const { version, exactVersion } = reference;
  return imageOf(version === "latest" && exactVersion ? { ...reference, version: exactVersion } : reference);
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function referenceOf(image: string): ImageReference {
  const attempt = `boot image "${image}"`;
  const isOpen = /\/images\/[^/]+$/i.test(image) && /\/galleries\/|^\/(community|shared)Galleries\//i.test(image);
  if (isOpen || /[/:]latest$/i.test(image)) {
    throw refused(
      "CloudRefused",
      `Failed to ${attempt}: the image does not name a version, so its meaning may change; name a version`,
    );
  }
  if (/^\/subscriptions\//i.test(image)) return { id: image };
  if (/^\/communityGalleries\//i.test(image)) return { communityGalleryImageId: image };
  if (/^\/sharedGalleries\//i.test(image)) return { sharedGalleryImageId: image };
  const [publisher, offer, sku, version, ...more] = image.split(":");
  if (publisher && offer && sku && version && more.length === 0) return { publisher, offer, sku, version };
  throw refused("CloudRefused", `Failed to ${attempt}: expected a resource ID or publisher:offer:sku:version`);
}

/**
 * Images of Azure's marketplace, which have no ID. Constellation names one by a URI; Ostler also accepts
 * `publisher:offer:sku:version`. Both forms mean the same image.
 */

/** An image of Azure's marketplace. */
export interface MarketplaceImage {
  publisher: string;
  offer: string;
  sku: string;
  version: string;
}

const start = "constellation-marketplace-image://azure?";

/** Returns the image that a text names, in either form; undefined for any other text. */
export function marketplaceImageOf(image: string): MarketplaceImage | undefined {
  const isUri = image.slice(0, start.length).toLowerCase() === start;
  const [publisher, offer, sku, version, ...more] = isUri ? namesIn(image.slice(start.length)) : image.split(":");
  if (!publisher || !offer || !sku || !version || more.length > 0) return undefined;
  return { publisher, offer, sku, version };
}

function namesIn(query: string): string[] {
  const fields = new Map([...new URLSearchParams(query)].map(([key, value]) => [key.toLowerCase(), value]));
  return ["publisher", "offer", "sku", "version"].map((key) => fields.get(key) ?? "");
}

/** Returns the URI by which Constellation names the image. */
export function marketplaceUriOf({ publisher, offer, sku, version }: MarketplaceImage): string {
  return `constellation-marketplace-image://Azure?${new URLSearchParams({ offer, publisher, sku, version })}`;
}

/** Returns the four names as one text. */
export function marketplaceNamesOf({ publisher, offer, sku, version }: MarketplaceImage): string {
  return [publisher, offer, sku, version].join(":");
}

/** Returns equal keys for texts that name the same image; ids differ by no more than upper and lower case. */
export function imageKeyOf(image: string): string {
  const key = image.toLowerCase();
  const named = key.startsWith(start) ? marketplaceImageOf(key) : undefined;
  return named ? marketplaceNamesOf(named) : key;
}

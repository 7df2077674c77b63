/** The addresses of an engine that Ostler starts: sixteen networks of 254 addresses. */
export interface AddressPool {
  /** Address range of the pool in CIDR notation, such as 10.201.0.0/20. */
  readonly cidr: string;
  /**
   * Address of this host with prefix length, from the pool's first network, on the bridge of containers without a named
   * network.
   */
  readonly bridgeAddress: string;
}

// Minimum and maximum of a pool's second octet: pools are 10.201.0.0/20 to 10.250.0.0/20, above most ranges of pods and
// Services, and below the ranges of many VPNs.
const firstOctet = 201;
const lastOctet = 250;
const poolBits = 20;

/** Returns the first pool that overlaps none of the `taken` networks, each such as 10.0.0.0/8 or 10.0.0.1. */
export function chooseAddressPool(taken: readonly string[]): AddressPool {
  const ranges = taken.map(rangeOf);
  for (let octet = firstOctet; octet <= lastOctet; octet++) {
    const cidr = `10.${octet}.0.0/${poolBits}`;
    const pool = rangeOf(cidr);
    const isFree = ranges.every(({ first, last }) => last < pool.first || first > pool.last);
    if (isFree) return { cidr, bridgeAddress: `10.${octet}.0.1/24` };
  }
  throw new Error(
    `Failed to find free addresses for machines: each network from 10.${firstOctet}.0.0/${poolBits} to ` +
      `10.${lastOctet}.0.0/${poolBits} overlaps a route of this host`,
  );
}

/** Returns the destination networks in the output of `ip -json -4 route show table all`, without default routes. */
export function routedNetworks(routes: readonly { readonly dst?: string }[]): string[] {
  return routes.map(({ dst }) => dst ?? "default").filter((dst) => /^\d/.test(dst) && !dst.startsWith("0.0.0.0"));
}

interface Range {
  readonly first: number;
  readonly last: number;
}

function rangeOf(cidr: string): Range {
  const [address = "", bits = "32"] = cidr.split("/");
  const number = address.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const size = 2 ** (32 - Number(bits));
  const first = number - number % size;
  return { first, last: first + size - 1 };
}

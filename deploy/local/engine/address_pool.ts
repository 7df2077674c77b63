/** The addresses of an engine of ours: sixteen networks of 254 addresses. */
export interface AddressPool {
  /** For example 10.201.0.0/20. */
  readonly cidr: string;
  /** This host's address with its prefix on the bridge of containers that name no network; the first network. */
  readonly bridgeAddress: string;
}

// Above what clusters are usually given for pods and services, below where many VPNs begin.
const firstOctet = 201;
const lastOctet = 250;
const poolBits = 20;

/** The first pool that meets none of the `taken` networks, each like 10.0.0.0/8 or 10.0.0.1. */
export function chooseAddressPool(taken: readonly string[]): AddressPool {
  const ranges = taken.map(rangeOf);
  for (let octet = firstOctet; octet <= lastOctet; octet++) {
    const cidr = `10.${octet}.0.0/${poolBits}`;
    const pool = rangeOf(cidr);
    const isFree = ranges.every(({ first, last }) => last < pool.first || first > pool.last);
    if (isFree) return { cidr, bridgeAddress: `10.${octet}.0.1/24` };
  }
  throw new Error(`Cannot find free addresses for machines between 10.${firstOctet}.0.0 and 10.${lastOctet}.15.255`);
}

/** The networks that routes of `ip -json -4 route show table all` lead to, but not the default ones. */
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

/** Ids of members are unsigned integers of 64 bits: decimal in JSON, hexadecimal for people and etcdctl. */

const largest = 2n ** 64n - 1n;

/**
 * Returns the hexadecimal form of a decimal id, without leading zeros, as etcdctl prints it; undefined if it is
 * invalid.
 */
export function hexOf(decimal: string): string | undefined {
  if (!/^(0|[1-9]\d{0,19})$/.test(decimal)) return undefined;
  const value = BigInt(decimal);
  return value <= largest ? value.toString(16) : undefined;
}

/** Returns the decimal form of a hexadecimal id; undefined if it is invalid. */
export function decimalOf(hex: string): string | undefined {
  return /^[0-9a-f]{1,16}$/.test(hex) ? BigInt(`0x${hex}`).toString() : undefined;
}

/** Ids of members are unsigned integers of 64 bits: JSON has them in decimal, people and etcdctl in hexadecimal. */

const largest = 2n ** 64n - 1n;

/** The hexadecimal of a decimal id, without leading zeros as etcdctl prints it; undefined for what is no id. */
export function hexOf(decimal: string): string | undefined {
  if (!/^(0|[1-9]\d{0,19})$/.test(decimal)) return undefined;
  const value = BigInt(decimal);
  return value <= largest ? value.toString(16) : undefined;
}

/** The decimal of a hexadecimal id; undefined for what is no id. */
export function decimalOf(hex: string): string | undefined {
  return /^[0-9a-f]{1,16}$/.test(hex) ? BigInt(`0x${hex}`).toString() : undefined;
}

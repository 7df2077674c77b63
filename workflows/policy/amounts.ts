/** Amounts of machines as policies write them: a number, or a share of the wanted ones. */
import type { Amount } from "../contracts/mod.ts";

/** How many machines an amount is, of so many wanted; a share is rounded up and is never nothing. */
export function machinesOf(amount: Amount, replicas: number): number {
  if (typeof amount === "number") return amount;
  const share = Number.parseFloat(amount);
  if (!amount.trim().endsWith("%")) return Math.ceil(share);
  // 7 % of 100 is 7.000000000000001 as a product of doubles.
  return Math.max(1, Math.ceil(share * replicas / 100 - 1e-9));
}

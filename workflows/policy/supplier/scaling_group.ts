/**
 * A scaling group of a cloud: it keeps as many machines as its size says, makes up for those that it loses from what it boots
 * now, and removes none by itself. Newcomers are paper until they are ordered.
 */
import type { Supplier } from "./supplier.ts";

/** Its rules; `surge` is what its most leaves above the wanted number. */
export const scalingGroup: Supplier = {
  title: "the scaling group",
  capabilities: { updates: ["Replace"], removal: "WhenTold", makesUpForAside: false },
  roomOf: ({ surge }) => surge,
  owedOf: () => 0,
  nextOf: () => () => true,
  isEnoughReady: ({ pool, desired }) => pool.counts.ready >= desired.replicas,
  moveOf: ({ replicas }, { old, target }) => ({ makes: replicas - target.size, takes: old.map(() => 0) }),
};

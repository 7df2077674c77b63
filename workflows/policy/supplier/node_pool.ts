/** Machines that nobody makes: they are there, and are updated where they stand. */
import type { Supplier } from "./supplier.ts";

/** Its rules: as many are wanted as there are, and none ever comes or goes on our account. */
export const nodePool: Supplier = {
  title: "nobody",
  capabilities: { updates: ["InPlace"], removal: "ByItself", makesUpForAside: false },
  roomOf: () => 0,
  owedOf: () => 0,
  nextOf: () => () => true,
  isEnoughReady: ({ pool, desired }) => pool.counts.ready >= desired.replicas,
  moveOf: (_, { old }) => ({ makes: 0, takes: old.map(() => 0) }),
};

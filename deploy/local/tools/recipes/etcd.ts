import type { Recipe } from "../recipe.ts";

/** etcd 3.6; built from a wrapper because its own go.mod replaces its siblings. */
export const etcd: Recipe = {
  name: "etcd",
  packages: { etcd: "go.etcd.io/etcd/server/v3" },
  ldflags: "-s -w",
  requires: ["go.etcd.io/etcd/server/v3 v3.6.14"],
  replaces: [],
};

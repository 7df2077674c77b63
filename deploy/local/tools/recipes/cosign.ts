import type { Recipe } from "../recipe.ts";

/**
 * Sigstore's cosign, whose signatures Ostler verifies; the last release line that stores signatures under a tag by
 * default.
 */
export const cosign: Recipe = {
  name: "cosign",
  packages: { cosign: "github.com/sigstore/cosign/v2/cmd/cosign" },
  ldflags: "-s -w -X sigs.k8s.io/release-utils/version.gitVersion=v2.6.5",
  requires: ["github.com/sigstore/cosign/v2 v2.6.5"],
  replaces: [],
};

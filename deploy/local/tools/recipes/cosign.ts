import type { Recipe } from "../recipe.ts";

/** Sigstore's signer of images, whose signatures ours are compatible with; the last line whose default is the tag of a signature. */
export const cosign: Recipe = {
  name: "cosign",
  packages: { cosign: "github.com/sigstore/cosign/v2/cmd/cosign" },
  ldflags: "-s -w -X sigs.k8s.io/release-utils/version.gitVersion=v2.6.5",
  requires: ["github.com/sigstore/cosign/v2 v2.6.5"],
  replaces: [],
};

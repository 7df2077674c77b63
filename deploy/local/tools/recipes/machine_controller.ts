import type { Recipe } from "../recipe.ts";

const version = "v1.66.0";
const provider = Deno.readTextFileSync(new URL("./machine_controller_provider.go.txt", import.meta.url));

/** machine-controller with the providers kubevirt and fake; one of the others needs a module that is not served everywhere. */
export const machineController: Recipe = {
  name: "machine-controller",
  packages: { "machine-controller": "./cmd/machine-controller" },
  ldflags: "-s -w",
  requires: [],
  replaces: [],
  source: {
    module: `k8c.io/machine-controller@${version}`,
    keep: ["go.mod", "go.sum", "cmd", "pkg"],
    drop: ["pkg/cloudprovider/provider/anexia"],
    write: { "pkg/cloudprovider/provider.go": provider },
    modEdits: [
      "-dropreplace=k8c.io/machine-controller/sdk",
      "-droprequire=go.anx.io/go-anxcloud",
      `-require=k8c.io/machine-controller/sdk@${version}`,
    ],
  },
};

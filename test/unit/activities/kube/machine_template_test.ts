import { equal } from "node:assert/strict";
import { imageOf, kubeletOf } from "../../../../activities/kube/machine_deployment.ts";

const images: [string, object, string][] = [
  ["aws", { ami: "ami-1" }, "ami-1"],
  ["azure", { imageID: { value: "image-1" } }, "image-1"],
  ["kubevirt", { virtualMachine: { template: { primaryDisk: { osImage: { value: "docker://i" } } } } }, "docker://i"],
  ["kubevirt", { virtualMachine: { template: {} } }, ""],
  ["baremetal", { driverSpec: { osImageUrl: "http://image" } }, "http://image"],
  ["openstack", { image: { secretKeyRef: { name: "s" } } }, ""],
  ["digitalocean", { image: "none such" }, ""],
];

for (const [cloudProvider, cloudProviderSpec, image] of images) {
  Deno.test(`imageOf: finds "${image}" in ${cloudProvider} ${JSON.stringify(cloudProviderSpec)}`, () => {
    equal(imageOf({ providerSpec: { value: { cloudProvider, cloudProviderSpec } } }), image);
  });
}

for (const value of [undefined, null, "text", [], { cloudProvider: 7 }, { cloudProvider: "aws" }]) {
  Deno.test(`imageOf: returns no image for a provider config of ${JSON.stringify(value)}`, () => {
    equal(imageOf({ providerSpec: { value } }), "");
  });
}

Deno.test("kubeletOf: returns the kubelet version as written, or an empty string without one", () => {
  equal(kubeletOf({ versions: { kubelet: "v1.36.1" } }), "v1.36.1");
  equal(kubeletOf({}), "");
  equal(kubeletOf(undefined), "");
});

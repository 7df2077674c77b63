import { goJson } from "../go_json.ts";
import type { CloudConfigWriter } from "./cloud_config_writer.ts";
import { refused } from "./provider_values.ts";

/** JSON, with the credentials of a service principal. */
export const azure: CloudConfigWriter = {
  fields: {
    tenantID: "AZURE_TENANT_ID",
    subscriptionID: "AZURE_SUBSCRIPTION_ID",
    clientID: "AZURE_CLIENT_ID",
    clientSecret: "AZURE_CLIENT_SECRET",
    resourceGroup: "",
    location: "",
    vnetName: "",
    subnetName: "",
    routeTableName: "",
    securityGroupName: "",
    vnetResourceGroup: "",
    loadBalancerSku: "",
    availabilitySet: "",
  },
  write(values): string {
    const isAssigned = values.raw("assignAvailabilitySet") ?? true;
    if (typeof isAssigned !== "boolean") throw refused("assignAvailabilitySet must be true or false");
    const availabilitySet = values.text("availabilitySet");
    return goJson({
      cloud: "AZUREPUBLICCLOUD",
      tenantId: values.text("tenantID"),
      subscriptionId: values.text("subscriptionID"),
      aadClientId: values.text("clientID"),
      aadClientSecret: values.text("clientSecret"),
      resourceGroup: values.text("resourceGroup"),
      location: values.text("location"),
      vnetName: values.text("vnetName"),
      subnetName: values.text("subnetName"),
      routeTableName: values.text("routeTableName"),
      securityGroupName: values.text("securityGroupName"),
      primaryAvailabilitySetName: isAssigned ? availabilitySet : "",
      vnetResourceGroup: values.text("vnetResourceGroup"),
      useInstanceMetadata: true,
      loadBalancerSku: values.text("loadBalancerSku"),
    });
  },
};

import { type CloudConfigWriter, iniQuote } from "./cloud_config_writer.ts";

/** gcfg that tells zone and network. */
export const aws: CloudConfigWriter = {
  fields: { availabilityZone: "", vpcId: "", subnetId: "" },
  write(values): string {
    const quoted = (field: string): string => iniQuote(values.text(field));
    return `[global]
Zone=${quoted("availabilityZone")}
VPC=${quoted("vpcId")}
SubnetID=${quoted("subnetId")}
`;
  },
};

import { type CloudConfigWriter, iniQuote } from "./cloud_config_writer.ts";
import { refused } from "./provider_values.ts";

const address = /^(?:[^@/?#]*@)?(?:\[([^\]]+)\]|([^:/?#[\]]*))(?::(\d*))?(?:[/?#].*)?$/;

/** gcfg; a folder that is not given is that of the datacenter. */
export const vsphere: CloudConfigWriter = {
  fields: {
    vsphereURL: "VSPHERE_ADDRESS",
    username: "VSPHERE_USERNAME",
    password: "VSPHERE_PASSWORD",
    allowInsecure: "VSPHERE_ALLOW_INSECURE",
    datacenter: "",
    folder: "",
    datastore: "",
    datastoreCluster: "",
  },
  write(values): string {
    const match = address.exec(values.text("vsphereURL").replace(/^https?:\/\//, ""));
    if (match === null) throw refused("vsphereURL must be an https address");
    const [, ipv6, name = "", port = ""] = match;
    const datacenter = values.text("datacenter");
    const server = iniQuote(ipv6 ?? name);
    const [user, password] = [iniQuote(values.text("username")), iniQuote(values.text("password"))];
    return `[Global]
user              = ${user}
password          = ${password}
port              = ${iniQuote(port)}
insecure-flag     = ${values.flag("allowInsecure")}

[Disk]
scsicontrollertype = "pvscsi"

[Workspace]
server            = ${server}
datacenter        = ${iniQuote(datacenter)}
folder            = ${iniQuote(values.text("folder") || `/${datacenter}/vm`)}
default-datastore = ${iniQuote(values.text("datastore") || values.text("datastoreCluster"))}


[VirtualCenter ${server}]
user = ${user}
password = ${password}
port = ${port}
datacenters = ${iniQuote(datacenter)}

`;
  },
};

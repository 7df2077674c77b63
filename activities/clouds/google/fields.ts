/**
 * Fields with a mark in Google's description of Compute Engine, as paths in which the items of a list share one path. A
 * test compares these tables with the description.
 */

/** Fields that only Google writes, so no request contains them. */
export const outputs = {
  InstanceProperties: [
    ...["disks.architecture", "disks.diskEncryptionKey.sha256", "disks.index"],
    "disks.initializeParams.sourceImageEncryptionKey.sha256",
    "disks.initializeParams.sourceSnapshotEncryptionKey.sha256",
    ...["disks.kind", "disks.licenses", "disks.savedState", "disks.shieldedInstanceInitialState", "metadata.kind"],
    ...["networkInterfaces.accessConfigs.kind", "networkInterfaces.ipv6AccessConfigs.kind"],
    ...["networkInterfaces.ipv6AccessType", "networkInterfaces.kind", "networkInterfaces.name"],
  ],
  InstanceGroupManagerVersion: ["targetSize.calculated"],
};

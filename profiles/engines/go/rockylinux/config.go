// Package rockylinux is what a MachineDeployment says about Rocky Linux.
package rockylinux

// Config is printed by templates as it stands, so the order of its fields counts.
type Config struct {
	DistUpgradeOnBoot bool `json:"distUpgradeOnBoot"`
}

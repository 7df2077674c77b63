// Package amzn2 is what a MachineDeployment says about Amazon Linux 2.
package amzn2

// Config is printed by templates as it stands, so the order of its fields counts.
type Config struct {
	DistUpgradeOnBoot bool `json:"distUpgradeOnBoot"`
}

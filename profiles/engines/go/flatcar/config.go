// Package flatcar is what a MachineDeployment says about Flatcar.
package flatcar

// ProvisioningUtility is cloud-init or ignition.
type ProvisioningUtility string

// Config is printed by templates as it stands, so the order of its fields counts.
type Config struct {
	DisableAutoUpdate   bool `json:"disableAutoUpdate"`
	DisableLocksmithD   bool `json:"disableLocksmithD"`
	DisableUpdateEngine bool `json:"disableUpdateEngine"`

	ProvisioningUtility `json:"provisioningUtility,omitempty"`
}

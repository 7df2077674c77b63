// Package rhel is what a MachineDeployment says about Red Hat Enterprise Linux.
package rhel

// Config is printed by templates as it stands, so the order of its fields counts.
type Config struct {
	DistUpgradeOnBoot               bool   `json:"distUpgradeOnBoot"`
	RHELSubscriptionManagerUser     string `json:"rhelSubscriptionManagerUser,omitempty"`
	RHELSubscriptionManagerPassword string `json:"rhelSubscriptionManagerPassword,omitempty"`
	RHSMOfflineToken                string `json:"rhsmOfflineToken,omitempty"`
	AttachSubscription              bool   `json:"attachSubscription"`
	RHELUseSatelliteServer          bool   `json:"rhelUseSatelliteServer"`
	RHELSatelliteServer             string `json:"rhelSatelliteServer"`
	RHELOrganizationName            string `json:"rhelOrganizationName"`
	RHELActivationKey               string `json:"rhelActivationKey"`
}

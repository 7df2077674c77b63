// Package providerconfig is what a MachineDeployment says about its network.
package providerconfig

import "ostler/go-templates/net"

// DNSConfig lists name servers.
type DNSConfig struct {
	Servers []string `json:"servers"`
}

// NetworkConfig is printed by templates as it stands, so the order of its fields counts.
type NetworkConfig struct {
	CIDR     string       `json:"cidr"`
	Gateway  string       `json:"gateway"`
	DNS      DNSConfig    `json:"dns"`
	IPFamily net.IPFamily `json:"ipFamily,omitempty"`
}

// IsStaticIPConfig tells whether any static address is given.
func (n *NetworkConfig) IsStaticIPConfig() bool {
	return n != nil && (n.CIDR != "" || n.Gateway != "" || len(n.DNS.Servers) > 0)
}

// GetIPFamily gives the family, also where there is no network.
func (n *NetworkConfig) GetIPFamily() net.IPFamily {
	if n == nil {
		return ""
	}
	return n.IPFamily
}

// Package net names the address families of a machine's network.
package net

// IPFamily is "" (taken as IPv4), IPv4, IPv6, IPv4+IPv6 or IPv6+IPv4; anything else has neither.
type IPFamily string

// HasIPv4 tells whether IPv4 is among the families.
func (f IPFamily) HasIPv4() bool {
	return f == "" || f == "IPv4" || f.IsDualstack()
}

// HasIPv6 tells whether IPv6 is among the families.
func (f IPFamily) HasIPv6() bool {
	return f == "IPv6" || f.IsDualstack()
}

// IsDualstack tells whether both families are there, in either order.
func (f IPFamily) IsDualstack() bool {
	return f == "IPv4+IPv6" || f == "IPv6+IPv4"
}

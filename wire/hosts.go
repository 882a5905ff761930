package wire

import "net/netip"

// hosts counts the sessions of each host. It is guarded by the server's lock.
type hosts map[string]int

func (h hosts) add(host string) { h[host]++ }

func (h hosts) remove(host string) {
	if h[host]--; h[host] == 0 {
		delete(h, host)
	}
}

// perHost is how many sessions that host may have.
func (o *Options) perHost(host string) int {
	switch {
	case o.MaxPerHost > 0:
		return o.MaxPerHost
	case o.MaxPerHost < 0 || thisMachine(host):
		return o.MaxConnections
	}
	return max(1, o.MaxConnections/4)
}

// thisMachine reports whether what [hostOf] returned is no other machine: a loopback
// address, or none of IP. The only address of its network that IPv6 gives out is ::1
// (RFC 4291 §2.5.3).
func thisMachine(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	network, err := netip.ParsePrefix(host)
	return err != nil || network.Contains(netip.IPv6Loopback())
}

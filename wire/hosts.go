package wire

import "net/netip"

// hosts counts the open sessions of each host. The server's mutex guards it.
type hosts map[string]int

func (h hosts) add(host string) { h[host]++ }

func (h hosts) remove(host string) {
	if h[host]--; h[host] == 0 {
		delete(h, host)
	}
}

// perHost returns the largest number of sessions that host may have.
func (o *Options) perHost(host string) int {
	switch {
	case o.MaxPerHost > 0:
		return o.MaxPerHost
	case o.MaxPerHost < 0 || isLocal(host):
		return o.MaxConnections
	}
	return max(1, o.MaxConnections/4)
}

// isLocal reports whether host, a result of [hostOf], is this machine: a loopback address, or
// a name that is not an IP address. For IPv6, hostOf returns a network, and ::1 is the only
// address in use in its network (RFC 4291 §2.5.3).
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	network, err := netip.ParsePrefix(host)
	return err != nil || network.Contains(netip.IPv6Loopback())
}

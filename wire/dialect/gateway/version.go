package gateway

import (
	"regexp"
	"slices"
)

// The supported versions of this protocol, and of the Model Context Protocol, the newest
// first (addenda §5).
var (
	versions    = []string{"1.1", "1.0"}
	mcpVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}
)

// supported has the versions of this protocol in the order of wire.
var supported = slices.Sorted(slices.Values(versions))

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// hello is the result of the negotiation of an initialize.
type hello struct {
	version string
	mcp     bool // it is a version of MCP
	gzip    bool // both ends compress after the reply
}

// negotiate chooses a version: the preferred version of the peer if it is supported, else
// the newest in common. The answer to an unknown date is the newest supported date: MCP
// leaves it to the peer whether to accept that. It reports false without a version in
// common.
func negotiate(preferred string, others []string) (hello, bool) {
	known := slices.Concat(versions, mcpVersions)
	at := slices.Index(known, preferred)
	if at < 0 {
		at = slices.IndexFunc(known, func(v string) bool { return slices.Contains(others, v) })
	}
	if at < 0 && date.MatchString(preferred) {
		at = len(versions)
	}
	if at < 0 {
		return hello{}, false
	}
	return hello{version: known[at], mcp: at >= len(versions)}, true
}

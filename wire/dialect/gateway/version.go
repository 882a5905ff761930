package gateway

import (
	"regexp"
	"slices"
)

// The versions that are spoken here: this protocol's own, and those of the Model Context
// Protocol, each the newest first (addenda §5).
var (
	versions    = []string{"1.1", "1.0"}
	mcpVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}
)

// supported are the versions of this protocol's own as wire lists them.
var supported = slices.Sorted(slices.Values(versions))

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// hello is what an initialize settles.
type hello struct {
	version string
	mcp     bool // it is a version of MCP's
	gzip    bool // both ends compress after the reply
}

// negotiate chooses a version: the one that the peer prefers, else the newest that both
// know. A date that is unknown here is answered by our newest: MCP leaves it to the
// peer whether it speaks that. It reports false when there is none in common.
func negotiate(preferred string, others []string) (hello, bool) {
	if slices.Contains(versions, preferred) {
		return hello{version: preferred}, true
	}
	if slices.Contains(mcpVersions, preferred) {
		return hello{version: preferred, mcp: true}, true
	}
	for _, v := range versions {
		if slices.Contains(others, v) {
			return hello{version: v}, true
		}
	}
	for _, v := range mcpVersions {
		if slices.Contains(others, v) {
			return hello{version: v, mcp: true}, true
		}
	}
	if date.MatchString(preferred) {
		return hello{version: mcpVersions[0], mcp: true}, true
	}
	return hello{}, false
}

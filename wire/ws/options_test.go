package ws

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestServesPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/mcp": true, "/mcp/": false, "/ws/Anna": true, "/ws/": false, "/ws": false, "/ws/a/b": false, "/other/Anna": false,
	} {
		if got := (Options{Path: "/mcp", AgentPath: "/ws/"}).servesPath(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if (Options{Path: "/mcp"}).servesPath("/ws/Anna") {
		t.Error("a path of agents is served without AgentPath")
	}
}

// A path below AgentPath names one agent.
func TestAgentOfThePath(t *testing.T) {
	for path, want := range map[string]performatives.AgentID{"/ws/Ana": "Ana", "/ws/": "", "/ws/Ana/cli": "", "/mcp": "", "/ws": ""} {
		if got := (Options{Path: "/mcp", AgentPath: "/ws/"}).agentOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := (Options{Path: "/mcp"}).agentOf("/mcp"); got != "" {
		t.Errorf("without AgentPath: %q", got)
	}
}

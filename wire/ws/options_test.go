package ws

import "testing"

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

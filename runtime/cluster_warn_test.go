package runtime

import (
	"log/slog"
	"strings"
	"testing"
)

// A program that lets everyone in who reaches its ports is told so, before it listens.
func TestOpenClusterWarns(t *testing.T) {
	for _, one := range []struct {
		gossip string
		keys   [][]byte
		warns  int
	}{
		{"192.0.2.1:7946", nil, 2}, // no machine has it
		{"192.0.2.1:7946", [][]byte{[]byte("0123456789abcdef")}, 1},
		{"node.invalid:7946", nil, 2},
		{"localhost:0", nil, 0},
		{"127.0.0.1:0", nil, 0},
		{"127.9.9.9:0", nil, 0},
	} {
		var log strings.Builder
		n, err := New(Options{
			Name: "n1", Cluster: &ClusterOptions{Gossip: one.gossip, Keys: one.keys}, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		if n != nil {
			if err := n.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Count(log.String(), "everyone who reaches"); got != one.warns || (err == nil) != (one.warns == 0) {
			t.Errorf("%s: %d warnings, want %d: %v: %s", one.gossip, got, one.warns, err, log.String())
		}
	}
}

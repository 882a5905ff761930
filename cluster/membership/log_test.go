package membership

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
)

func TestLinesOfMemberlistHaveALevel(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		level slog.Level
		text  string
	}{
		"[DEBUG] memberlist: Stream connection from=1\n":                    {slog.LevelDebug, "Stream connection from=1"},
		"[INFO] memberlist: Suspect a@1 has failed, no acks received":       {slog.LevelInfo, "Suspect a@1 has failed, no acks received"},
		"[WARN] memberlist: handler queue full":                             {slog.LevelWarn, "handler queue full"},
		"[ERR] memberlist: Push/Pull with b failed":                         {slog.LevelWarn, "Push/Pull with b failed"},
		"[WARN] memberlist: ignoring alive message for 'b@1': it has ended": {slog.LevelDebug, "ignoring alive message for 'b@1': it has ended"},
		"[ERR] memberlist: Decrypt packet failed: no key":                   {slog.LevelDebug, "Decrypt packet failed: no key"},
		"something else": {slog.LevelInfo, "something else"},
	} {
		if level, text := parseLog(line); level != want.level || text != want.text {
			t.Errorf("%q: %v %q", line, level, text)
		}
	}
}

// What memberlist logs goes to Options.Logger, and nowhere else.
func TestMemberlistLogsToTheLogger(t *testing.T) {
	t.Parallel()
	logs := &lines{}
	a := start(t, Options{Name: "a", Logger: logs.logger()})
	b := start(t, Options{Name: "b", Seeds: []string{a.Self().Gossip}})
	b.join(t)
	waitFor(t, func() bool { return logs.contain("DEBUG", "Stream connection") && logs.contain("INFO", "event=Joined") })
	if !strings.Contains(logs.String(), "node=a") {
		t.Errorf("no node in %s", logs)
	}
}

// Timers of memberlist print after the end of a node.
func TestAnEndedNodeLogsNothing(t *testing.T) {
	t.Parallel()
	logs, ended := &lines{}, &atomic.Bool{}
	logger := slog.NewLogLogger(logHandler{logs.logger(), ended}, slog.LevelInfo)
	logger.Print("[INFO] memberlist: before")
	ended.Store(true)
	logger.Print("[INFO] memberlist: after")
	if text := logs.String(); !strings.Contains(text, "before") || strings.Contains(text, "after") {
		t.Error(text)
	}
}

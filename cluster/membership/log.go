package membership

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
)

// logHandler takes the lines that memberlist prints and passes them on with the level that is in
// their text. memberlist's timers of suspicions go on after its end, and print; from the node's end
// on, that is dropped.
type logHandler struct {
	to    *slog.Logger
	ended *atomic.Bool
}

func (h logHandler) Enabled(context.Context, slog.Level) bool { return !h.ended.Load() }

func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	level, text := parseLog(record.Message)
	h.to.Log(ctx, level, text)
	return nil
}

func (h logHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h logHandler) WithGroup(string) slog.Handler      { return h }

// expected are parts of the lines that memberlist prints as warnings or errors, and that parseLog
// lowers to debug. They are about normal events, or about packets that any stranger can send. This
// package itself logs each refusal of a node's name.
var expected = []string{
	"ignoring alive message for", // an incarnation that admit has refused
	"Got ping for unexpected node",
	"Refuting a",
	"Decrypt packet failed",
	"encryption is configured but remote state is not encrypted",
	"with unacceptable label",
}

// parseLog returns the level of a line of memberlist, and its text without level and origin.
func parseLog(line string) (slog.Level, string) {
	levels := []struct {
		name  string
		level slog.Level
	}{
		{"[DEBUG]", slog.LevelDebug},
		{"[INFO]", slog.LevelInfo},
		{"[WARN]", slog.LevelWarn},
		{"[ERR]", slog.LevelWarn}, // of one packet or one connection: no failure of the node
		{"[ERROR]", slog.LevelWarn},
	}
	level, text := slog.LevelInfo, strings.TrimSpace(line)
	for _, l := range levels {
		if rest, ok := strings.CutPrefix(text, l.name); ok {
			level, text = l.level, rest
			break
		}
	}
	text = strings.TrimPrefix(strings.TrimSpace(text), "memberlist: ")
	for _, e := range expected {
		if strings.Contains(text, e) {
			return slog.LevelDebug, text
		}
	}
	return level, text
}

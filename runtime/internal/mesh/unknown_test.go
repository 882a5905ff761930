package mesh

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
)

// A link of an unknown node is refused without a warning, unless that goes on. The warning comes
// after ten seconds, and after each doubling of that.
func TestUnknownNodesThatGoOnAreLogged(t *testing.T) {
	var u unknownNodes
	begin := time.Unix(1, 0)
	at := func(name string, after time.Duration) slog.Level {
		return u.level(&nodelink.UnknownNodeError{Node: cluster.Incarnation{Name: name, Epoch: 1}}, begin.Add(after))
	}
	var warnings []time.Duration
	for after := time.Duration(0); after <= time.Minute; after += 2 * time.Second {
		if at("n1", after) == slog.LevelWarn {
			warnings = append(warnings, after)
		}
		if after%(10*time.Second) == 0 && at("n2", after) == slog.LevelWarn {
			t.Errorf("a node that is refused each 10 s has a warning after %v", after)
		}
	}
	if got := fmt.Sprint(warnings); got != "[10s 20s 40s]" {
		t.Errorf("warnings after %v", got)
	}
	if u.level(errors.New("malformed"), begin) != slog.LevelWarn {
		t.Error("a link that is refused for another reason has no warning")
	}
	if at("n1", time.Hour) != slog.LevelDebug {
		t.Error("after an hour without a link, the first one that is refused has a warning")
	}
	for i := range 2 * maxUnknown {
		at(fmt.Sprint("other", i), time.Hour)
	}
	if len(u.by) > maxUnknown {
		t.Errorf("%d nodes are remembered", len(u.by))
	}
}

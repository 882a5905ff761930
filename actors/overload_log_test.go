package actors

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOverloadIsLogged reads the log of a system that refuses, and then does not.
func TestOverloadIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := NewSystem(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop(context.Background()) //nolint:errcheck // nothing runs
		for range 3 {
			s.gate.Refuse(time.Second)
			synctest.Wait()
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN msg=\"the node is overloaded") || !strings.Contains(got, " refused=1 queued=0 working=0 ") {
			t.Errorf("the log is %s", got)
		}
		log.Reset()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=INFO msg=\"the node is not overloaded any more") || !strings.Contains(got, " refused=3 ") {
			t.Errorf("the log is %s", got)
		}
	})
}

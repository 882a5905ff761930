package actors

import (
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
		log := make(logLines, 10)
		s, err := NewSystem(Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop(context.Background()) //nolint:errcheck // nothing runs
		for range 3 {
			s.gate.Refuse(time.Second)
			synctest.Wait()
		}
		if got := <-log; len(log) > 0 || !strings.Contains(got, "level=WARN msg=\"the node is overloaded") || !strings.Contains(got, " refused=1 queued=0 working=0 ") {
			t.Errorf("the log is %s", got)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := <-log; len(log) > 0 || !strings.Contains(got, "level=INFO msg=\"the node is not overloaded any more") || !strings.Contains(got, " refused=3 ") {
			t.Errorf("the log is %s", got)
		}
	})
}

// logLines takes the lines of a log.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

package acl_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// A NOT_UNDERSTOOD that refers to no message is not answered, because two peers would answer each
// other without end. The log has it, at most three times in a row.
func TestNotUnderstoodWithoutReferenceIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := wire.NewServer(wire.Options{
			Handler: &wiretest.Recorder{}, Dialects: []wire.Dialect{acl.Dialect{}}, Anonymous: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			KeepAlive: wire.KeepAlive{Interval: time.Hour, Timeout: 2 * time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		near, far := wiretest.Pipe()
		go func() { _ = s.Serve(far, nil) }()
		say := func() {
			if err := near.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(
				`{"message_id":"m","performative":"NOT_UNDERSTOOD","sender":{"agent_id":"a"},"receiver":{"agent_id":"b"},"payload":{"reason_text":"eh?"}}`)}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		const want = "level=WARN msg=\"message refused without an answer\""
		for range 10 {
			say()
		}
		if got := strings.Count(log.String(), want); got != 3 || !strings.Contains(log.String(), "in_reply_to") {
			t.Errorf("%d lines of 10 messages, want 3:\n%s", got, log.String())
		}
		time.Sleep(time.Minute)
		say()
		if got := strings.Count(log.String(), want); got != 4 {
			t.Errorf("%d lines after a minute, want 4", got)
		}
		_ = near.Close()
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if c := s.Counts(); c.Refused != 11 {
			t.Errorf("%+v", c)
		}
	})
}

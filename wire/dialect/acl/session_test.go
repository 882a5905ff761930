package acl_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
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

// opened returns the codec of a session of the node "node".
func opened(t *testing.T) wire.Codec {
	t.Helper()
	c, err := acl.Dialect{}.Open(wire.CodecOptions{Local: "node", Stamper: stamps{}, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type stamps struct{}

func (stamps) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: "own", Time: time.Date(2025, 1, 30, 12, 0, 0, 0, time.UTC)}
}

// brief returns the act, the sender, the receiver and the reference of a message; empty for none.
func brief(t *testing.T, frame []byte) string {
	t.Helper()
	if len(frame) == 0 {
		return ""
	}
	var m struct {
		Performative     string
		Sender, Receiver struct {
			ID string `json:"agent_id"`
		}
		InReplyTo string `json:"in_reply_to"`
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		t.Fatalf("%v: %s", err, frame)
	}
	return strings.Join([]string{m.Performative, m.Sender.ID, m.Receiver.ID, m.InReplyTo}, " ")
}

// A refused message is answered if it expects a reply, and a malformed one by its receiver. The
// agent whose request is refused by a malformed message is told.
func TestAnswersOfASession(t *testing.T) {
	for name, test := range map[string]struct {
		frame                   string
		message, answer, refuse string // the act of what is read; the answer at once, and to a refusal
	}{
		"a request": {
			`{"message_id":"m","performative":"REQUEST","sender":{"agent_id":"a"},"receiver":{"agent_id":"b"},"payload":{"action":"x"}}`, "REQUEST", "", "FAILURE b a m",
		},
		"news":         {`{"message_id":"m","performative":"INFORM","sender":{"agent_id":"a"},"receiver":{"agent_id":"b"},"payload":{}}`, "INFORM", "", ""},
		"a broken one": {`{"message_id":"m","performative":"REQUEST","sender":{"agent_id":"a"},"receiver":{"agent_id":"b"},"payload":1}`, "", "NOT_UNDERSTOOD b a m", ""},
		"of nobody":    {`{"message_id":"m","performative":"REQUEST","receiver":{"agent_id":"b"},"payload":{}}`, "", "NOT_UNDERSTOOD b unknown m", ""},
		"to nobody":    {`{"message_id":"m","performative":"REQUEST","sender":{"agent_id":"a"},"receiver":{"agent_id":""},"payload":{}}`, "", "NOT_UNDERSTOOD node a m", ""},
		"no JSON":      {`{`, "", "NOT_UNDERSTOOD node unknown unknown", ""},
		"a broken refusal": {
			`{"message_id":"m","performative":"REFUSE","in_reply_to":"q","sender":{"agent_id":"a"},"receiver":{"agent_id":"b"},"payload":1}`, "FAILURE", "NOT_UNDERSTOOD b a m", "",
		},
	} {
		c := opened(t)
		var message, answer, refuse string
		c.Decode([]byte(test.frame), func(in wire.Inbound) {
			if in.Message != nil {
				message += in.Message.Performative().String()
			}
			answer += brief(t, in.Answer)
			refuse += brief(t, wiretest.Refuse(t, c, in, performatives.CodeBusy))
		})
		if message != test.message || answer != test.answer || refuse != test.refuse {
			t.Errorf("%s: read %q, answered %q, refused %q", name, message, answer, refuse)
		}
	}
}

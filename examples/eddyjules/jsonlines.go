package main

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// jsonLines prints one JSON object in each line: every message when it is sent and when
// it is received, in causal order, and at the end the outcome. A message that arrives
// after the end of its conversation, as around a deadline, is only printed as sent.
//
// With logged, it prints only the messages, as log lines of acl §7.2.
type jsonLines struct {
	codec  *acl.Codec
	logged bool
	mu     sync.Mutex
	w      io.Writer
	to     *json.Encoder // to w
	err    error         // the first
}

func newJSONLines(w io.Writer, logged bool) *jsonLines {
	codec, err := acl.New(acl.Options{})
	if err != nil {
		panic(err) // the zero options are valid
	}
	j := &jsonLines{codec: codec, logged: logged, w: w, to: json.NewEncoder(w)}
	j.to.SetEscapeHTML(false) // keeps the < and > of source code readable
	return j
}

func (j *jsonLines) observe(r events.Record) {
	switch e := r.Event.(type) {
	case events.MessageSent:
		j.message(e.Message.Sender(), acl.Sent, e.Message)
	case events.MessageReceived:
		j.message(e.Agent, acl.Received, e.Message)
	}
}

// directions are the words for a direction.
var directions = map[acl.Direction]string{acl.Sent: "sent", acl.Received: "received"}

func (j *jsonLines) message(agent performatives.AgentID, d acl.Direction, m *performatives.Message) {
	if j.logged {
		line, err := j.codec.AppendLogLine(nil, d, m)
		j.write(func() error {
			if err == nil {
				_, err = j.w.Write(append(line, '\n'))
			}
			return err
		})
		return
	}
	encoded, err := j.codec.Encode(m)
	if err != nil {
		j.write(func() error { return err })
		return
	}
	j.print(struct {
		Agent     performatives.AgentID `json:"agent"`
		Direction string                `json:"direction"`
		Message   json.RawMessage       `json:"message"`
	}{agent, directions[d], encoded})
}

func (j *jsonLines) end(r performatives.InformResult, err error) error {
	last := struct {
		Outcome string                      `json:"outcome"`
		Result  *performatives.InformResult `json:"result"`
		Error   string                      `json:"error,omitempty"`
	}{Outcome: outcome(r, err)}
	if err == nil {
		last.Result = &r
	} else {
		last.Error = explain(err)
	}
	if !j.logged {
		j.print(last)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return printing(j.err)
}

func (j *jsonLines) print(v any) { j.write(func() error { return j.to.Encode(v) }) }

// write calls a function that writes, unless there was an error before.
func (j *jsonLines) write(fn func() error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = fn()
	}
}

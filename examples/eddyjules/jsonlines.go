package main

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// jsonLines prints one JSON object in each line: every message when it is sent and when
// it is received, in causal order, and at the end the outcome. A message that arrives
// after the end of its conversation, as around a deadline, is only printed as sent.
type jsonLines struct {
	codec *acl.Codec
	mu    sync.Mutex
	to    *json.Encoder
	err   error // the first
}

func newJSONLines(w io.Writer) *jsonLines {
	codec, err := acl.New(acl.Options{})
	if err != nil {
		panic(err) // the zero options are valid
	}
	j := &jsonLines{codec: codec, to: json.NewEncoder(w)}
	j.to.SetEscapeHTML(false) // keeps the < and > of source code readable
	return j
}

func (j *jsonLines) observe(r actors.Record) {
	switch e := r.Event.(type) {
	case actors.MessageSent:
		j.message(e.Message.Sender(), "sent", e.Message)
	case actors.MessageReceived:
		j.message(e.Agent, "received", e.Message)
	}
}

func (j *jsonLines) message(agent performatives.AgentID, direction string, m *performatives.Message) {
	encoded, err := j.codec.Encode(m)
	if err != nil {
		j.failed(err)
		return
	}
	j.print(struct {
		Agent     performatives.AgentID `json:"agent"`
		Direction string                `json:"direction"`
		Message   json.RawMessage       `json:"message"`
	}{agent, direction, encoded})
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
	j.print(last)
	j.mu.Lock()
	defer j.mu.Unlock()
	return printing(j.err)
}

func (j *jsonLines) print(v any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = j.to.Encode(v)
	}
}

func (j *jsonLines) failed(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
}

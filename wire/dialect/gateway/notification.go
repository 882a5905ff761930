package gateway

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// notification is a notification of the peer's. It gets no answer.
func (c *codec) notification(e *envelope, r *rpc, o *origin) wire.Inbound {
	switch r.method {
	case methodInitialized:
		return wire.Inbound{Token: e.token, Ref: o} // initialize said all that matters
	case methodCancelled:
		return c.cancelled(e, r, o)
	case methodProgress:
		if in, ok := c.progress(e, r, o); ok {
			return in
		}
	}
	return c.inform(e, r, o)
}

// notified are the acts that travel as a notification of their name.
var notified = map[string]performatives.Performative{
	"confirm": performatives.ActConfirm, "disconfirm": performatives.ActDisconfirm,
}

// inform is a notification for the swarm.
func (c *codec) inform(e *envelope, r *rpc, o *origin) wire.Inbound {
	act := performatives.ActInform
	if a, ok := notified[strings.TrimPrefix(r.method, notifications)]; ok {
		act = a
	}
	payload := bytes.Clone(r.params)
	if is(payload, '[') { // a payload is an object
		payload = append(append([]byte(`{"params":`), payload...), '}')
	}
	own := *r
	own.extra = with(r.extra, metadataMethod, jsonscan.AppendQuoted(nil, r.method))
	env := performatives.Envelope{ID: c.stamp().ID, Performative: act}
	if payload != nil {
		env.Payload = performatives.Raw(payload)
	}
	m, err := c.message(e, &own, env)
	if err != nil {
		return wire.Inbound{Token: e.token, Err: renamed(err), Ref: o}
	}
	return wire.Inbound{Message: m, Token: e.token, ID: ownID(e, r), Ref: o}
}

// cancelled withdraws a request. One that is not under way, or somebody else's, has no
// effect, as MCP says.
func (c *codec) cancelled(e *envelope, r *rpc, o *origin) wire.Inbound {
	var id, reason []byte
	object(r.params, nil, found{"requestId", &id}, found{"reason", &reason})
	nothing := wire.Inbound{Token: e.token, Ref: o}
	c.mu.Lock()
	call := c.pending.ids[key(id)]
	if call == nil || call.cancelled || call.hello != nil || !call.message.Sender().Is(e.source) {
		c.mu.Unlock()
		return nothing
	}
	call.cancelled = true
	c.mu.Unlock()
	o.cancels = call
	of := call.message
	s := c.stamp()
	m, err := c.message(e, r, performatives.Envelope{
		ID: s.ID, Receiver: of.Receiver(), ConversationID: of.ConversationID(), InReplyTo: string(of.ID()), ReplyWith: string(s.ID),
		ReplyBy: of.ReplyBy(), Priority: max(of.Priority(), performatives.High), Payload: performatives.Cancel{Reason: text(reason)},
	})
	if err != nil {
		c.Refuse(nil, nothing, err)
		return nothing
	}
	return wire.Inbound{Message: m, Token: e.token, ID: ownID(e, r), Ref: o}
}

// progress is news of a request of ours. It reports false for a notification that names
// no token.
func (c *codec) progress(e *envelope, r *rpc, o *origin) (wire.Inbound, bool) {
	var token, done, total, message, results []byte
	object(r.params, nil, found{"progressToken", &token}, found{"progress", &done}, found{"total", &total}, found{"message", &message}, found{"intermediate_results", &results})
	if token == nil {
		return wire.Inbound{}, false
	}
	nothing := wire.Inbound{Token: e.token, Ref: o} // the request has ended
	c.mu.Lock()
	q := c.pending.requests[idText(token)]
	over := q == nil || q.cancel != nil
	c.mu.Unlock()
	if over {
		return nothing, true
	}
	update := performatives.StatusUpdate{Progress: percentage(done, total), Description: text(message)}
	if results != nil {
		update.Results = performatives.RawContent(bytes.Clone(results))
	}
	m, err := c.reply(e, r, q.message, performatives.ActStatusUpdate, update)
	if err != nil {
		return wire.Inbound{Token: e.token, Err: renamed(err), Ref: o}, true
	}
	return wire.Inbound{Message: m, Token: e.token, ID: ownID(e, r), Ref: o}, true
}

// percentage is how far work has come: nil when nobody knows.
func percentage(done, total []byte) *float64 {
	d, err := strconv.ParseFloat(string(done), 64)
	if err != nil {
		return nil
	}
	t, err := strconv.ParseFloat(string(total), 64)
	if err != nil || t <= 0 {
		return nil
	}
	p := min(max(d/t*100, 0), 100)
	return &p
}

// reply makes a message of the peer's about a request of ours. It comes from whom we
// asked: who else the envelope names as its source answers for it.
func (c *codec) reply(e *envelope, r *rpc, to *performatives.Message, act performatives.Performative, payload any) (*performatives.Message, error) {
	from := to.Receiver()
	if from == "" {
		from = e.source
	}
	m, err := to.ReplyFrom(from, performatives.Stamp{ID: c.stamp().ID, Time: e.timestamp}, act, payload)
	if err != nil || len(e.metadata)+len(r.extra) == 0 {
		return m, err
	}
	env := m.Envelope()
	env.Metadata = metadataFor(e, r)
	return performatives.New(env)
}

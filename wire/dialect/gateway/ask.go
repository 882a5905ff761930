package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// own writes what answers nothing of the peer's.
func (c *codec) own(dst []byte, m *performatives.Message) ([]byte, error) {
	switch act := m.Performative(); act { //nolint:exhaustive // of the rest the default tells apart
	case performatives.ActTaskRequest, performatives.ActQueryCapabilities:
		return c.ask(dst, m)
	case performatives.ActCancel:
		return c.cancel(dst, m)
	case performatives.ActStatusUpdate:
		return dst, nil // of what has ended
	case performatives.ActInform, performatives.ActConfirm, performatives.ActDisconfirm:
		if m.InReplyTo() != "" {
			return dst, nil // it answers what has ended, such as a CANCEL that came too late
		}
		return c.notify(dst, m)
	default:
		if act.IsReply() && !act.ExpectsReply() {
			return dst, nil
		}
		return dst, errWordless
	}
}

// ask writes a request. One that is under way already is not written again: nothing is
// lost on a connection, so that a retry has nothing to mend.
func (c *codec) ask(dst []byte, m *performatives.Message) ([]byte, error) {
	stub, err := outline(m)
	if err != nil {
		return dst, err
	}
	method, err := c.methodOf(m)
	if err != nil {
		return dst, err
	}
	now := c.stamp()
	q := &request{envelope: string(m.ID()), message: stub, method: method, expires: c.expiry(m, now.Time)}
	again, err := c.register(q, now)
	if err != nil || again {
		return dst, err
	}
	out, err := c.asked(dst, m, q, now.Time)
	if err == nil && !c.fits(len(out)-len(dst)) {
		err = &performatives.Refusal{Code: performatives.CodeInvalidPayload, About: m.ID(), Text: "the message is longer than the connection carries"}
	}
	if err != nil {
		c.mu.Lock()
		c.pending.removeRequest(q)
		c.mu.Unlock()
		return dst, err
	}
	return out, nil
}

// asked appends the envelope of a request.
func (c *codec) asked(dst []byte, m *performatives.Message, q *request, now time.Time) ([]byte, error) {
	params, err := c.params(m, q)
	if err != nil {
		return dst, err
	}
	return c.appendEnvelope(dst, header{
		id: q.envelope, time: m.Timestamp(), source: string(m.Sender()), target: string(m.Receiver()), correlation: traced(m),
		timeout: timeLeft(m, now), message: m,
	}, appendRPC(nil, append([]member{{"method", appendString(nil, q.method)}, {"params", params}, {"id", []byte(q.id)}}, extraOf(m)...)...))
}

// methodOf is the method of a request: tools/call for a task, initialize for what the
// end that opened the connection says of itself, else tools/list.
func (c *codec) methodOf(m *performatives.Message) (string, error) {
	if m.Performative() == performatives.ActTaskRequest {
		return methodCall, nil
	}
	p, err := payloadAs[performatives.QueryCapabilities](m)
	if err == nil && c.session.Initiator && p.Capabilities != nil {
		return methodInitialize, nil
	}
	return methodList, err
}

// params returns the params of a request.
func (c *codec) params(m *performatives.Message, q *request) ([]byte, error) {
	switch q.method {
	case methodCall:
		return callParams(m, q.id)
	case methodInitialize:
		p, err := payloadAs[performatives.QueryCapabilities](m)
		if err != nil {
			return nil, err
		}
		return c.introduction(p)
	}
	return []byte("{}"), nil
}

// callParams are the params of tools/call, with the id of the request as the progress
// token.
func callParams(m *performatives.Message, token string) ([]byte, error) {
	p, err := payloadAs[performatives.TaskRequest](m)
	if err != nil {
		return nil, err
	}
	dst := appendString([]byte(`{"name":`), p.TaskType)
	if p.Description != "" {
		dst = appendString(append(dst, `,"task_description":`...), p.Description)
	}
	if !p.Parameters.IsZero() {
		if dst, err = appendContent(append(dst, `,"arguments":`...), p.Parameters); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		switch v := p.Extra[name]; {
		case callMember(name) || len(v) == 0:
		case !json.Valid(v):
			return nil, fmt.Errorf("gateway: %.64q is no JSON", name)
		default:
			dst = append(append(appendString(append(dst, ','), name), ':'), v...)
		}
	}
	return append(appendMeta(append(dst, `,"_meta":`...), p.Extra["_meta"], token), '}'), nil
}

// callMember reports whether a member of the params of tools/call has a field.
func callMember(name string) bool {
	switch name {
	case "name", "arguments", "_meta", "task_description", "task_type", "task_parameters":
		return true
	}
	return false
}

// appendMeta appends a _meta with a progress token of ours in place of any other.
func appendMeta(dst, meta []byte, token string) []byte {
	dst = append(append(dst, `{"progressToken":`...), token...)
	if json.Valid(meta) {
		object(meta, func(name string, v []byte) {
			dst = append(append(appendString(append(dst, ','), name), ':'), v...)
		}, found{"progressToken", new([]byte)})
	}
	return append(dst, '}')
}

// appendContent appends the JSON of a content: as it came, or that of the Go value.
func appendContent(dst []byte, content performatives.Content) ([]byte, error) {
	if content.Value() != nil {
		text, err := marshal(content)
		return append(dst, text...), err
	}
	text, err := content.MarshalJSON()
	if err != nil || !json.Valid(text) {
		return dst, errors.Join(errNoJSON, err)
	}
	return append(dst, text...), nil
}

var errNoJSON = errors.New("gateway: the payload is no JSON")

// register notes a request and gives it its ids. again is true for one that is under
// way already.
func (c *codec) register(q *request, s performatives.Stamp) (again bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.pending
	if other := p.parties[partyOf(q.message)]; other != nil && other.cancel == nil {
		if other.message.ID() == q.message.ID() {
			return true, nil
		}
		return false, &performatives.Refusal{
			Code: performatives.CodeUnexpectedAct, About: q.message.ID(), Text: "the peer has not answered the conversation's last request",
		}
	}
	if p.envelopes[q.envelope] != nil {
		q.envelope = string(s.ID) // somebody else's message has the same id
	}
	p.counter++
	q.id = strconv.FormatUint(p.counter, 10)
	if !p.addRequest(q, s.Time) {
		return false, &performatives.Refusal{
			Code: performatives.CodeBusy, About: q.message.ID(), Text: "too many requests to the agent are under way",
		}
	}
	return false, nil
}

// expiry is when a request's asker has surely given up.
func (c *codec) expiry(m *performatives.Message, now time.Time) time.Time {
	by := m.ReplyBy()
	if by.IsZero() {
		by = now.Add(c.opts.Timeout)
	}
	return by.Add(linger)
}

// timeLeft is the metadata.timeout_ms of a request; zero for none.
func timeLeft(m *performatives.Message, now time.Time) time.Duration {
	if m.ReplyBy().IsZero() {
		return 0
	}
	return max(m.ReplyBy().Sub(now), time.Millisecond)
}

// traced is the correlation_id that a request came with, if it came from a gateway.
func traced(m *performatives.Message) []byte {
	if v, ok := m.Metadata(metadataCorrelation); ok && json.Valid(v) {
		return v
	}
	return nil
}

// extraOf are the members of a JSON-RPC message that no field stands for.
func extraOf(m *performatives.Message) (out []member) {
	for name, v := range m.AllMetadata() {
		of, ok := strings.CutPrefix(name, prefixPayload)
		if ok && json.Valid(v) && !rpcMember(of) {
			quoted := appendString(nil, of)
			out = append(out, member{string(quoted[1 : len(quoted)-1]), v})
		}
	}
	return out
}

func rpcMember(name string) bool {
	switch name {
	case "jsonrpc", "id", "method", "params", "result", "error":
		return true
	}
	return false
}

// cancel withdraws a request from the peer. JSON-RPC has no receipt for that: see
// [codec.answerTo].
func (c *codec) cancel(dst []byte, m *performatives.Message) ([]byte, error) {
	stub, err := outline(m)
	if err != nil {
		return dst, err
	}
	c.mu.Lock()
	q := c.pending.parties[partyOf(m)]
	if q == nil || q.cancel != nil {
		c.mu.Unlock()
		return dst, nil // it has ended, or it is withdrawn already
	}
	q.cancel = stub
	c.pending.withdraw(q)
	c.mu.Unlock()
	p, err := payloadAs[performatives.Cancel](m)
	if err != nil {
		return dst, err
	}
	params, err := marshal(struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    string          `json:"reason,omitempty"`
	}{json.RawMessage(q.id), p.Reason})
	if err != nil {
		return dst, err
	}
	return c.announce(dst, m, methodCancelled, params)
}

// notify writes an act that wants no answer as a notification: by the method that it
// came by, or else by its name.
func (c *codec) notify(dst []byte, m *performatives.Message) ([]byte, error) {
	method := notifications + strings.ToLower(m.Performative().String())
	if v, ok := m.Metadata(metadataMethod); ok && json.Valid(v) && text(v) != "" {
		method = text(v)
	}
	if m.Payload() == nil {
		return c.announce(dst, m, method, nil)
	}
	params, err := marshal(m.Payload())
	if err != nil {
		return dst, fmt.Errorf("gateway: payload: %w", err)
	}
	return c.announce(dst, m, method, params)
}

// announce writes a notification.
func (c *codec) announce(dst []byte, m *performatives.Message, method string, params []byte) ([]byte, error) {
	return c.appendEnvelope(dst, header{
		id: string(m.ID()), time: m.Timestamp(), source: string(m.Sender()), target: string(m.Receiver()), correlation: traced(m), message: m,
	}, appendRPC(nil, append([]member{{"method", appendString(nil, method)}, {"params", params}}, extraOf(m)...)...))
}

// errWordless is the refusal of an act that the peer's protocol has no words for.
var errWordless = &performatives.Refusal{Code: performatives.CodeUnknownPerformative, Text: "the peer's protocol has no words for this act"}

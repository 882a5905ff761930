package gateway

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
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
	if v, ok := m.Metadata(metadataMethod); ok && valid(v) && text(v) != "" {
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
	}, appendRPC(nil, append([]member{{"method", jsonscan.AppendQuoted(nil, method)}, {"params", params}}, extraOf(m)...)...))
}

// extraOf are the members of a JSON-RPC message that no field stands for.
func extraOf(m *performatives.Message) (out []member) {
	for name, v := range m.AllMetadata() {
		of, ok := strings.CutPrefix(name, prefixPayload)
		if ok && valid(v) && !rpcMember(of) {
			quoted := jsonscan.AppendQuoted(nil, of)
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

// errWordless is the refusal of an act that the peer's protocol has no words for.
var errWordless = &performatives.Refusal{Code: performatives.CodeUnknownPerformative, Text: "the peer's protocol has no words for this act"}

package gateway

import (
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// own writes a message that answers no request of the peer.
func (c *codec) own(dst []byte, m *performatives.Message) ([]byte, error) {
	switch act := m.Performative(); act { //nolint:exhaustive // the default handles all other acts
	case performatives.ActTaskRequest, performatives.ActQueryCapabilities:
		return c.ask(dst, m)
	case performatives.ActQueryRef:
		if m.MessageType() != "" {
			return dst, errWordless
		}
		return c.ask(dst, m)
	case performatives.ActRequest:
		if m.MessageType() == "" {
			return dst, errWordless
		}
		return c.ask(dst, m)
	case performatives.ActCancel:
		return c.cancel(dst, m)
	case performatives.ActStatusUpdate:
		return dst, nil // its request is no longer pending
	case performatives.ActInform, performatives.ActConfirm, performatives.ActDisconfirm:
		if m.InReplyTo() != "" {
			return dst, nil // its request is no longer pending, as with a late CANCEL
		}
		if m.Payload() == nil && m.Ontology() == performatives.OntologyCapabilityInformation {
			return c.listChanged(dst, m)
		}
		return c.notify(dst, m)
	default:
		if act.IsReply() && !act.ExpectsReply() {
			return dst, nil
		}
		return dst, errWordless
	}
}

// listChanged tells a client of MCP that its list of tools has changed. No other client was
// promised that.
func (c *codec) listChanged(dst []byte, m *performatives.Message) ([]byte, error) {
	c.mu.Lock()
	mcp := c.mcp
	c.mu.Unlock()
	if !mcp {
		return dst, nil
	}
	return c.announce(dst, m, methodListChanged, nil)
}

// cancel withdraws a request from the peer. JSON-RPC has no receipt: [codec.answerTo]
// makes one of an answer to the request.
func (c *codec) cancel(dst []byte, m *performatives.Message) ([]byte, error) {
	stub, err := exchange.Outline(m)
	if err != nil {
		return dst, err
	}
	c.mu.Lock()
	q := c.pending.parties.Latest(exchange.PartyOf(m))
	if q == nil {
		c.pending.ahead.Note(m, c.stamp().Time)
	}
	if q == nil || q.cancel != nil {
		c.mu.Unlock()
		return dst, nil // it is not pending, or is withdrawn already
	}
	q.cancel = stub
	c.pending.requests.Expire(q) // MCP asks the peer not to answer it
	c.mu.Unlock()
	p, err := exchange.PayloadAs[performatives.Cancel](m)
	if err != nil {
		return dst, err
	}
	params := jsonscan.OpenObject(nil)
	params.Raw("requestId", q.number())
	if p.Reason != "" {
		params.Text("reason", p.Reason)
	}
	return c.announce(dst, m, methodCancelled, withMessageType(append(params.JSON, '}'), m, performatives.ActCancel))
}

// notify writes an act without an answer as a notification. The method is that of the
// decoded notification, or else has the name of the act.
func (c *codec) notify(dst []byte, m *performatives.Message) ([]byte, error) {
	method := notifications + strings.ToLower(m.Performative().String())
	if v, ok := m.Metadata(metadataMethod); ok && jsonscan.Valid(v) && jsonscan.Text(v) != "" {
		method = jsonscan.Text(v)
	}
	if m.Payload() == nil && m.MessageType() == "" {
		return c.announce(dst, m, method, nil)
	}
	params, err := exchange.Object(Name, m.Payload())
	if err != nil {
		return dst, err
	}
	return c.announce(dst, m, method, withMessageType(params, m, m.Performative()))
}

// announce writes a notification. Nil params are none.
func (c *codec) announce(dst []byte, m *performatives.Message, method string, params []byte) ([]byte, error) {
	return c.appendCall(dst, headerTo(m), method, nil, rawParams(params))
}

// rawParams returns a function that writes the params of a request or a notification.
func rawParams(params []byte) func(*jsonscan.Builder) error {
	return func(b *jsonscan.Builder) error {
		if params != nil {
			b.Raw("params", params)
		}
		return nil
	}
}

// errWordless is the refusal of an act that this protocol cannot express.
var errWordless = &performatives.Refusal{Code: performatives.CodeUnknownPerformative, Text: "the peer's protocol has no words for this act"}

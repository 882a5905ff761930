package main

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
)

// bridgeMessages reads and writes messages of bridge by themselves: no handshake of a connection
// comes before them.
type bridgeMessages struct {
	codec   *bridge.Codec
	stamper performatives.Stamper
}

var _ wire.Codec = bridgeMessages{}

// codecOf returns the codec by which a message of a dialect is translated.
func codecOf(d wire.Dialect, o wire.CodecOptions) (wire.Codec, error) {
	if _, ok := d.(bridge.Dialect); !ok {
		return d.Open(o)
	}
	codec, err := bridge.New(bridge.Options{Stamper: o.Stamper, MaxBytes: o.MaxBytes})
	return bridgeMessages{codec, o.Stamper}, err
}

// Decode reads one message.
func (b bridgeMessages) Decode(frame []byte, take func(wire.Inbound)) {
	m, err := b.codec.Decode(frame)
	var refused *bridge.DecodeError
	if errors.As(err, &refused) {
		take(wire.Inbound{Err: refused.Refusal, Answer: refused.Answer(systemAgent, b.stamper.Stamp())})
		return
	}
	take(wire.Inbound{Message: m})
}

// Encode writes one message.
func (b bridgeMessages) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	return b.codec.Append(dst, m)
}

// Refuse writes nothing: a message that was read is not refused.
func (bridgeMessages) Refuse(dst []byte, _ wire.Inbound, _ error) []byte { return dst }

// gatewayMessages reads requests of the gateway, and their responses after them. A response has
// only the id of its request, so that the end reads it which has sent that.
type gatewayMessages struct {
	wire.Codec
	asks wire.Codec // sends the requests that were read
	sent map[string]sentRequest
}

// sentRequest is a request as gatewayMessages.asks has sent it, by the id with which it came.
type sentRequest struct {
	id json.RawMessage
	to performatives.AgentID
}

// members are those of an object; nil for any other value.
type members map[string]json.RawMessage

func membersOf(value []byte) (m members) {
	_ = json.Unmarshal(value, &m) // m stays nil
	return m
}

// Decode reads a frame.
func (g gatewayMessages) Decode(frame []byte, take func(wire.Inbound)) {
	envelope := membersOf(frame)
	payload := membersOf(envelope["mcp_payload"])
	if payload == nil { // without an envelope
		envelope, payload = nil, envelope
	}
	key := string(payload["id"])
	if request, ok := g.sent[key]; ok && payload["method"] == nil {
		delete(g.sent, key)
		if answer := request.answer(envelope, payload); answer != nil {
			g.asks.Decode(answer, take)
			return
		}
	}
	g.Codec.Decode(frame, func(in wire.Inbound) {
		if m := in.Message; m != nil && key != "" && m.Performative().ExpectsReply() {
			if sent, err := g.asks.Encode(nil, m); err == nil {
				g.sent[key] = sentRequest{membersOf(membersOf(sent)["mcp_payload"])["id"], m.Receiver()}
			}
		}
		take(in)
	})
}

// answer returns a response as the answer to the request that was sent; nil if it is none.
func (r sentRequest) answer(envelope, payload members) []byte {
	if envelope == nil {
		own, _ := json.Marshal(map[string]any{"id": performatives.NewID(), "timestamp": time.Now().UTC(), "source": r.to}) // they always have a JSON form
		envelope = membersOf(own)
	}
	var err error
	payload["id"] = r.id
	if envelope["mcp_payload"], err = json.Marshal(payload); err != nil {
		return nil
	}
	text, err := json.Marshal(envelope)
	if err != nil {
		return nil
	}
	return text
}

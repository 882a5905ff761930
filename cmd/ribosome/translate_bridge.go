package main

import (
	"errors"

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

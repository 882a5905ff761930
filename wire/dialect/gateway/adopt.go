package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// handedOver are the pending calls of a source whose answers another session writes.
type handedOver struct {
	Calls   []handedCall
	Batches [][][]byte // the answers of incomplete batches: see batch
}

type handedCall struct {
	ID, Token           []byte
	Correlation, Method string
	Namespace           performatives.AgentID
	Batch, Slot         int // Batch counts from 1; 0 = none
	MCP, Cancelled      bool
	Progress            float64
	Expires             time.Time
	Of                  performatives.Envelope // without a payload
}

// Requests returns the pending calls of a source. It implements [wire.HandoverCodec].
func (c *codec) Requests(source performatives.AgentID) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out handedOver
	var batches []*batch
	for _, x := range c.pending.calls {
		m := x.message
		if x.hello != nil || !m.Sender().Is(source) {
			continue
		}
		h := handedCall{
			ID: x.id, Token: x.token, Correlation: x.correlation, Method: x.method, Namespace: x.of, Slot: x.slot, MCP: x.mcp, Cancelled: x.cancelled,
			Progress: x.progress, Expires: x.expires, Of: performatives.Envelope{
				ID: m.ID(), Performative: m.Performative(), Sender: m.Sender(), Receiver: m.Receiver(), ConversationID: m.ConversationID(),
				ReplyBy: m.ReplyBy(), Priority: m.Priority(), Timestamp: m.Timestamp(), MessageType: "OUTLINE", // which needs no payload
			},
		}
		if x.batch != nil {
			if h.Batch = slices.Index(batches, x.batch) + 1; h.Batch == 0 {
				batches, out.Batches = append(batches, x.batch), append(out.Batches, slices.Clone(x.batch.answers))
				h.Batch = len(batches)
			}
		}
		out.Calls = append(out.Calls, h)
	}
	return json.Marshal(out)
}

// Adopt takes over the calls that Requests of another session has returned. It implements
// [wire.HandoverCodec].
func (c *codec) Adopt(requests []byte) error {
	var in handedOver
	if err := json.Unmarshal(requests, &in); err != nil {
		return fmt.Errorf("gateway: requests of another session: %w", err)
	}
	batches := make([]*batch, len(in.Batches))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, answers := range in.Batches {
		batches[i] = &batch{answers: answers, bytes: len(slices.Concat(answers...))}
		c.held += batches[i].bytes
	}
	for i := range in.Calls {
		h := &in.Calls[i]
		m, err := performatives.New(h.Of)
		if err != nil {
			return fmt.Errorf("gateway: a request of another session: %w", err)
		}
		x := &call{
			origin: origin{id: h.ID, correlation: h.Correlation, slot: h.Slot}, message: m, method: h.Method, of: h.Namespace, mcp: h.MCP, token: h.Token,
			progress: h.Progress, cancelled: h.Cancelled, expires: h.Expires,
		}
		if h.Batch > 0 {
			x.batch = batches[h.Batch-1]
			x.batch.left++
		}
		c.pending.calls[m.ConversationID()] = x
		if k := key(x.id); !jsonscan.IsNull(x.id) && c.pending.ids[k] == nil {
			c.pending.ids[k] = x
		}
	}
	return nil
}

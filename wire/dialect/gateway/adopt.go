package gateway

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// handedOver are the pending calls of a source whose answers another session writes.
type handedOver struct {
	Calls   json.RawMessage
	Batches [][][]byte // the answers of incomplete batches: see batch
}

// Requests returns the pending calls of a source. The Batch of a call counts from 1; 0 is none. It
// implements [wire.HandoverCodec].
func (c *codec) Requests(source performatives.AgentID) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out handedOver
	var batches []*batch
	for _, x := range c.pending.calls.Of(source) {
		if x.batch == nil {
			continue
		}
		if x.Batch = slices.Index(batches, x.batch) + 1; x.Batch == 0 {
			batches, out.Batches = append(batches, x.batch), append(out.Batches, x.batch.answers)
			x.Batch = len(batches)
		}
	}
	var err error
	if out.Calls, err = c.pending.calls.Requests(source); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// Adopt takes over the calls that Requests of another session has returned. It implements
// [wire.HandoverCodec].
func (c *codec) Adopt(requests []byte) error {
	var in handedOver
	if err := json.Unmarshal(requests, &in); err != nil {
		return fmt.Errorf("requests of another session: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	calls, err := c.pending.calls.Adopt(in.Calls)
	if err != nil {
		return err
	}
	batches := make([]*batch, len(in.Batches))
	for i, answers := range in.Batches {
		batches[i] = &batch{answers: answers, bytes: len(slices.Concat(answers...))}
		c.held += batches[i].bytes
	}
	for _, x := range calls {
		if x.Batch > 0 {
			x.batch = batches[x.Batch-1]
			x.batch.left++
		}
	}
	return nil
}

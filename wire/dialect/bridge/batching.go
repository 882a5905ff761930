package bridge

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// maxBatch is the largest number of messages in one frame (extension batching).
const maxBatch = 1024

// batches reports whether a frame is an array, and an agent has agreed to those.
func (s *session) batches(frame []byte) bool {
	if scan := (jsonscan.Scanner{Data: frame}); scan.Peek() != '[' {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hellos {
		if h.extensions.Has(extensionBatching) {
			return true
		}
	}
	return false
}

// checkBatch refuses an array that cannot be read, or has too many messages, or none.
func (s *session) checkBatch(frame []byte) *performatives.Refusal {
	if bad := exchange.CheckText(frame, s.codec.opts.MaxBytes); bad != nil {
		return bad
	}
	scan := jsonscan.Scanner{Data: frame, Depth: exchange.MaxDepth + 1}
	if !scan.Value() || !scan.End() {
		return exchange.Broken(scan.Problem())
	}
	n := 0
	for range jsonscan.Elements(frame) {
		n++
	}
	if n == 0 || n > maxBatch {
		return exchange.Broken(fmt.Sprintf("want 1 to %d messages in a batch, got %d", maxBatch, n))
	}
	return nil
}

package bridge

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// maxBatch is the largest number of messages in one frame (extension batching).
const maxBatch = 1024

// batches reports whether a frame is an array, and an agent has agreed to those.
func (s *session) batches(frame []byte) bool {
	scan := jsonscan.Scanner{Data: frame}
	return scan.Peek() == '[' && s.agreesWithAny(extensionBatching)
}

// decodeBatch reads the messages of an array, in order. One that is invalid does not affect the
// others.
func (s *session) decodeBatch(frame []byte, take func(wire.Inbound)) {
	messages, problem := s.split(frame)
	if problem != "" {
		s.broken(&DecodeError{Refusal: exchange.Broken(problem)}, take)
		return
	}
	for _, text := range messages {
		s.decodeOne(text, take)
	}
}

// split returns the elements of an array, or why it has none.
func (s *session) split(frame []byte) (all [][]byte, problem string) {
	if bad := exchange.CheckText(frame, s.codec.opts.MaxBytes); bad != nil {
		return nil, bad.Text
	}
	scan := jsonscan.Scanner{Data: frame, Depth: s.codec.opts.MaxDepth + 1}
	if !scan.Value() || !scan.End() {
		return nil, scan.Problem()
	}
	for v := range jsonscan.Elements(frame) {
		if len(all) == maxBatch {
			return nil, fmt.Sprintf("want at most %d messages in a batch", maxBatch)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return nil, "want at least one message in a batch"
	}
	return all, ""
}

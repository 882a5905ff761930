package bridge

import (
	"fmt"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
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
		s.broken(&DecodeError{Refusal: &performatives.Refusal{Code: performatives.CodeParsingError, Text: problem}}, take)
		return
	}
	for _, text := range messages {
		s.decodeOne(text, take)
	}
}

// split returns the elements of an array, or why it has none.
func (s *session) split(frame []byte) (all [][]byte, problem string) {
	if limit := s.codec.opts.MaxBytes; len(frame) > limit {
		return nil, fmt.Sprintf("want at most %d bytes, got %d", limit, len(frame))
	}
	if !utf8.Valid(frame) {
		return nil, "want UTF-8, got other bytes"
	}
	scan := jsonscan.Scanner{Data: frame, Depth: s.codec.opts.MaxDepth + 1}
	scan.Open('[')
	for first := true; ; first = false {
		v, more, ok := scan.Element(first)
		switch {
		case !ok || !more && !scan.End():
			return nil, scan.Problem()
		case !more && len(all) == 0:
			return nil, "want at least one message in a batch"
		case !more:
			return all, ""
		case len(all) == maxBatch:
			return nil, fmt.Sprintf("want at most %d messages in a batch", maxBatch)
		}
		all = append(all, v)
	}
}

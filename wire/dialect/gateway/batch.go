package gateway

import (
	"bytes"
	"slices"
)

// batch is a JSON-RPC batch of the peer. Its answers are written together, in the order
// of the requests, when the last is there. The codec's lock guards it.
type batch struct {
	answers [][]byte // nil = missing; empty = the request gets none
	left    int      // the number of missing answers
	bytes   int
}

func newBatch(requests int) *batch { return &batch{answers: make([][]byte, requests), left: requests} }

// put stores an answer, and replaces an earlier answer to the same request.
func (b *batch) put(slot int, answer []byte) {
	if b.answers[slot] == nil {
		b.left--
	}
	b.bytes += len(answer) - len(b.answers[slot])
	b.answers[slot] = append([]byte{}, answer...)
}

// text returns the answers as an array, or nil when there is none.
func (b *batch) text() []byte {
	given := slices.DeleteFunc(slices.Clone(b.answers), func(answer []byte) bool { return len(answer) == 0 })
	if len(given) == 0 {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(given, []byte{','})...), ']')
}

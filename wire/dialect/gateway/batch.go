package gateway

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

// appendTo appends the answers as an array, or nothing when there is none.
func (b *batch) appendTo(dst []byte) []byte {
	n := len(dst)
	for _, a := range b.answers {
		if len(a) == 0 {
			continue
		}
		if len(dst) == n {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, a...)
	}
	if len(dst) == n {
		return dst
	}
	return append(dst, ']')
}

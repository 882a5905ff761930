package runtime

import (
	"strings"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxTold is how many questions a node remembers that were answered in the stead of whom
// they were for.
const maxTold = 65_536

// told is what those who asked by the links of a node have been told in the stead of whom
// they asked, a peer that was lost or an agent that was late. That may answer after all,
// and who asked must not be told two ends. It is also what was asked in the stead of who
// has gone, and waits for no answer. It remembers the latest questions; its zero value is
// ready, and safe for concurrent use.
//
// The two ways are kept apart, because one question may go both: from a peer to all, and
// on to other peers. That one of those is lost keeps no answer from who asked.
type told struct {
	mu    sync.Mutex
	known map[question]int // the place in order
	order []question       // a ring once it is full
	next  int              // the oldest of the ring
}

// question is what an answer refers to.
type question struct {
	inbound bool                  // a peer asked
	asker   performatives.AgentID // folded
	ref     string                // its id or reply_with
}

// clone returns q without the message that it came with.
func (q question) clone() question {
	q.asker, q.ref = performatives.AgentID(strings.Clone(string(q.asker))), strings.Clone(q.ref)
	return q
}

// add remembers one question, which refs are the names of.
func (t *told) add(inbound bool, asker performatives.AgentID, refs ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = make(map[question]int)
	}
	for _, ref := range refs {
		q := question{inbound, asker.Fold(), ref}
		if _, ok := t.known[q]; ok {
			continue
		}
		q = q.clone()
		if len(t.order) < maxTold {
			t.known[q] = len(t.order)
			t.order = append(t.order, q)
			continue
		}
		if oldest := t.order[t.next]; t.known[oldest] == t.next { // else it was asked again
			delete(t.known, oldest)
		}
		t.known[q] = t.next
		t.order[t.next] = q
		t.next = (t.next + 1) % maxTold
	}
}

// asked notes that m asks what may have been told before: it waits for an answer again.
// Peers that number their messages anew in each session ask something else by it.
func (t *told) asked(inbound bool, m *performatives.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) == 0 {
		return
	}
	asker := m.Sender().Fold()
	delete(t.known, question{inbound, asker, string(m.ID())})
	delete(t.known, question{inbound, asker, m.ReplyWith()})
}

// has reports whether the asker of what ref refers to was told.
func (t *told) has(inbound bool, asker performatives.AgentID, ref string) bool {
	if ref == "" {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) == 0 {
		return false
	}
	_, ok := t.known[question{inbound, asker.Fold(), ref}]
	return ok
}

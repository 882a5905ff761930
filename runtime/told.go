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
	order []toldQuestion   // a ring once it is full
	next  int              // the oldest of the ring

	cancels map[question]question // by a request, the CANCEL that was sent in the stead of its asker
}

// toldQuestion is an entry of the ring of told.
type toldQuestion struct {
	question
	request question // that question, a CANCEL, withdraws; the zero value for none
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
	for _, ref := range refs {
		t.addLocked(question{inbound, asker.Fold(), ref}, question{})
	}
}

// addCancel remembers a CANCEL that was sent in the stead of who asked m.
func (t *told) addCancel(inbound bool, asker performatives.AgentID, cancel, m *performatives.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	asker = asker.Fold()
	t.addLocked(question{inbound, asker, string(cancel.ID())}, question{inbound, asker, string(m.ID())})
}

func (t *told) addLocked(q, request question) {
	if t.known == nil {
		t.known, t.cancels = make(map[question]int), make(map[question]question)
	}
	if _, ok := t.known[q]; ok {
		return
	}
	q = q.clone()
	at := len(t.order)
	if at < maxTold {
		t.order = append(t.order, toldQuestion{})
	} else {
		at, t.next = t.next, (t.next+1)%maxTold
		t.forgetLocked(at)
	}
	t.known[q] = at
	if request.ref != "" {
		request = request.clone()
		t.cancels[request] = q
	}
	t.order[at] = toldQuestion{q, request}
}

// forgetLocked forgets the question at a place of the ring, unless it was asked again since.
func (t *told) forgetLocked(at int) {
	oldest := t.order[at]
	if t.known[oldest.question] == at {
		delete(t.known, oldest.question)
	}
	if t.cancels[oldest.request] == oldest.question {
		delete(t.cancels, oldest.request)
	}
}

// asked notes that m asks what may have been told before: it waits for an answer again.
// Peers that number their messages anew in each session ask something else by it. What
// answers the CANCEL of m is an answer to m, too.
func (t *told) asked(inbound bool, m *performatives.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) == 0 {
		return
	}
	asker := m.Sender().Fold()
	q := question{inbound, asker, string(m.ID())}
	delete(t.known, q)
	if cancel, ok := t.cancels[q]; ok {
		delete(t.known, cancel)
		delete(t.cancels, q)
	}
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

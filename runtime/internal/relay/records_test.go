package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

var epoch = time.Unix(1_000_000, 0)

var testLimits = Limits{Open: 4, Bytes: 25_000, Grace: time.Second, Patience: time.Minute}

// act makes a message from "ann" to "bob".
func act(t testing.TB, id string, a p.Performative, mod func(*p.Envelope)) *p.Message {
	t.Helper()
	e := p.Envelope{ID: p.MessageID(id), Performative: a, Sender: "ann", Receiver: "bob", ConversationID: "c", Timestamp: epoch, Payload: p.Raw(`{}`)}
	if a.IsReply() {
		e.InReplyTo, e.Sender, e.Receiver = "q", "bob", "ann"
	}
	if mod != nil {
		mod(&e)
	}
	m, err := p.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// recordsFixture is a relay with records between the peers ann and bob, each behind a session.
type recordsFixture struct {
	t testing.TB
	*Relay
	ann, bob party
	now      time.Time
	said     []*p.Message
}

func newRecordsFixture(t testing.TB) *recordsFixture {
	t.Helper()
	var protocols []actors.Protocol
	for _, s := range library.Services(codons.Times{}) {
		protocols = append(protocols, s)
	}
	system, err := actors.NewSystem(actors.Options{Protocols: protocols})
	if err != nil {
		t.Fatal(err)
	}
	r := New(system, library.Codons(), func(p.AgentID) *Link { return nil }, func(*p.Message) bool { return false })
	d := &recordsFixture{t: t, Relay: r, now: time.Now()}
	t.Cleanup(d.stop)
	d.ann, d.bob = party{"ann", d.link(Session)}, party{"bob", d.link(Session)}
	d.say = func(all []ending, _ bool) {
		for _, m := range all {
			d.said = append(d.said, m.Message)
		}
	}
	return d
}

func (d *recordsFixture) stop() {
	if err := d.system.Stop(context.WithoutCancel(d.t.Context())); err != nil {
		d.t.Error(err)
	}
	d.Close()
}

func (d *recordsFixture) link(kind Kind) *Link { return d.NewLink(kind, nil, testLimits) }

// party returns an agent: of the two peers, another behind bob's session.
func (d *recordsFixture) party(id p.AgentID) party {
	if id.Is(d.ann.id) {
		return d.ann
	}
	return party{id, d.bob.via}
}

func (d *recordsFixture) clock() time.Time { return d.now }

// passes has the relay pass on a message, by a function that has no effect.
func (d *recordsFixture) passes(m *p.Message) error { return d.passesAs(d.passage(m)) }

// fails has the relay pass on a message, which is refused when meanwhile has returned. told reports
// whether the parties of the record were told of its end, and the sender of nothing else.
func (d *recordsFixture) fails(m *p.Message, code p.Code, meanwhile func()) (told bool) {
	d.t.Helper()
	unsent, err := d.pass(d.passage(m), func(m *p.Message) error {
		meanwhile()
		return m.Refused(code, "")
	})
	if !errors.Is(unsent, code) {
		d.t.Errorf("%s: %v, want %s", m.ID(), unsent, code)
	}
	return err == nil
}

func (d *recordsFixture) passage(m *p.Message) passage {
	return passage{message: m, from: d.party(m.Sender()), to: d.party(m.Receiver())}
}

func (d *recordsFixture) passesAs(on passage) error {
	_, _, err := d.note(on, d.clock)
	return err
}

// checkCounts compares the counts that are read without the lock with what they count.
func (d *recordsFixture) checkCounts() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if want := len(d.openRecordsLocked()) + d.tombstones.Len(); int(d.records.Load()) != want {
		d.t.Errorf("there are %d records, and counted are %d", want, d.records.Load())
	}
	for _, l := range []*Link{d.ann.via, d.bob.via} {
		if l != nil && int(l.records.Load()) != len(d.eachLocked(l, every)) {
			d.t.Errorf("a link has %d records, and counted are %d", len(d.eachLocked(l, every)), l.records.Load())
		}
	}
}

func (d *recordsFixture) must(m *p.Message) {
	d.t.Helper()
	if err := d.passes(m); err != nil {
		d.t.Fatalf("%s: %v", m.ID(), err)
	}
}

// ends returns what the parties of ended records were told since the last call: the askers a
// failure by its code, and the workers a cancel.
func (d *recordsFixture) ends() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.said {
		if r := m.AsRefusal(); r != nil {
			all = append(all, m.InReplyTo()+" "+string(r.Code))
		} else {
			all = append(all, "cancel "+m.InReplyTo())
		}
	}
	d.said = nil
	slices.Sort(all)
	return all
}

func (d *recordsFixture) wantEnds(want ...string) {
	d.t.Helper()
	d.checkCounts()
	if got := d.ends(); !slices.Equal(got, want) {
		d.t.Errorf("told %q, want %q", got, want)
	}
}

func (d *recordsFixture) wantOpen(want int) {
	d.t.Helper()
	d.checkCounts()
	if got := d.Open(); got != want {
		d.t.Errorf("%d records are open, want %d", got, want)
	}
}

// A record is open until the table of its codon says that one side has ended.
func TestRecordEndsByItsTable(t *testing.T) {
	input := func(e *p.Envelope) {
		e.Payload = p.InformResult{Status: p.StatusPartial, Details: p.ContentOf(map[string]string{"request_for_user": "which file?"})}
	}
	receipt := func(e *p.Envelope) { e.InReplyTo = "x" }
	cancel := func(e *p.Envelope) { e.ID = "x" }
	from := func(sender, receiver p.AgentID) func(e *p.Envelope) {
		return func(e *p.Envelope) { e.Sender, e.Receiver = sender, receiver }
	}
	reply := from("bob", "ann")
	type step struct {
		act  p.Performative
		mod  func(*p.Envelope)
		open int
	}
	for name, steps := range map[string][]step{
		"notice":      {{p.ActInform, nil, 0}},
		"request":     {{p.ActRequest, nil, 1}, {p.ActAgree, nil, 1}, {p.ActInform, reply, 0}},
		"refusal":     {{p.ActRequest, nil, 1}, {p.ActRefuse, nil, 0}},
		"delegation":  {{p.ActTaskRequest, nil, 1}, {p.ActTaskAccept, nil, 1}, {p.ActStatusUpdate, reply, 1}, {p.ActInformResult, nil, 0}},
		"more input":  {{p.ActTaskRequest, nil, 1}, {p.ActTaskAccept, nil, 1}, {p.ActInformResult, input, 1}},
		"cancelled":   {{p.ActTaskRequest, nil, 1}, {p.ActTaskAccept, nil, 1}, {p.ActCancel, cancel, 1}, {p.ActInform, func(e *p.Envelope) { reply(e); receipt(e) }, 0}},
		"won":         {{p.ActCFP, nil, 1}, {p.ActPropose, reply, 1}, {p.ActAcceptProposal, from("ann", "bob"), 1}, {p.ActInformResult, nil, 0}},
		"stream":      {{p.ActSubscribe, nil, 1}, {p.ActAgree, nil, 1}, {p.ActInform, reply, 1}, {p.ActInform, reply, 1}},
		"not a table": {{p.ActRequest, nil, 1}, {p.ActInformCapabilities, nil, 1}, {p.ActInform, reply, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newRecordsFixture(t)
			for i, s := range steps {
				d.must(act(t, fmt.Sprint("m", i), s.act, func(e *p.Envelope) {
					if i == 0 {
						e.ID = "q"
					}
					if s.mod != nil {
						s.mod(e)
					}
					if e.Sender == "bob" && e.InReplyTo == "" {
						e.InReplyTo = "q"
					}
				}))
				if d.Open() != s.open {
					t.Fatalf("after %s, %d are open", s.act, d.Open())
				}
			}
			if steps[len(steps)-1].open == 0 && len(d.index)+len(d.of)+len(d.due) != 0 || d.ann.via.weight.Load() != 0 {
				t.Errorf("something is left: %v, %v, %v", d.index, d.of, d.due)
			}
		})
	}
}

// A CANCEL that comes after the end gets the last message again, whether it names its protocol or
// not: that ends the record of the CANCEL, and its asker is not told of a loss later.
func TestRecordOfACancelAfterTheEnd(t *testing.T) {
	for _, protocol := range []string{"", "task-delegation"} {
		d := newRecordsFixture(t)
		d.must(act(t, "q", p.ActTaskRequest, nil))
		result := answer(t, "r", p.ActInformResult)
		d.must(result)
		d.must(act(t, "x", p.ActCancel, func(e *p.Envelope) { e.Protocol, e.InReplyTo, e.Sender, e.Receiver = protocol, "q", "ann", "bob" }))
		d.wantOpen(1)
		d.must(result)
		d.wantOpen(0)
		d.bob.via.EndRecords(Disconnected)
		d.wantEnds()
	}
}

// A reply may refer to its request by the id or reply_with alone, where the dialect has no
// conversation ids.
func TestRecordIsFoundByReference(t *testing.T) {
	for _, ref := range []string{"q", "w"} {
		d := newRecordsFixture(t)
		d.must(act(t, "q", p.ActRequest, func(e *p.Envelope) { e.ReplyWith = "w" }))
		d.must(act(t, "a", p.ActFailure, func(e *p.Envelope) { e.ConversationID, e.InReplyTo = "a", "z" }))
		d.wantOpen(1)
		d.must(act(t, "b", p.ActFailure, func(e *p.Envelope) { e.ConversationID, e.InReplyTo, e.Sender = "a", ref, "eve" }))
		d.wantOpen(1)
		d.must(act(t, "c", p.ActFailure, func(e *p.Envelope) { e.ConversationID, e.InReplyTo = "a", ref }))
		d.wantOpen(0)
	}
}

// Records with one conversation id and several agents are told apart, as are two that two agents
// begin with each other.
func TestRecordsWithOneConversationID(t *testing.T) {
	d := newRecordsFixture(t)
	d.must(act(t, "1", p.ActCFP, nil))
	d.must(act(t, "2", p.ActCFP, func(e *p.Envelope) { e.Receiver = "cid" }))
	d.must(act(t, "3", p.ActCFP, func(e *p.Envelope) { e.Sender, e.Receiver = "BOB", "Ann" }))
	d.wantOpen(3)
	d.must(act(t, "4", p.ActRefuse, func(e *p.Envelope) { e.Sender, e.InReplyTo = "CID", "2" }))
	d.wantOpen(2)
	d.bob.via.EndRecords(Disconnected)
	d.wantEnds("1 disconnected", "cancel 3")
	d.wantOpen(0)
}

func TestRecordsAreBounded(t *testing.T) {
	d := newRecordsFixture(t)
	ask := func(i int) error {
		err := d.passes(act(t, fmt.Sprint("q", i), p.ActRequest, func(e *p.Envelope) { e.ConversationID = p.ConversationID(fmt.Sprint(i)) }))
		return err
	}
	for i := range testLimits.Open {
		if err := ask(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(9); !errors.Is(err, p.CodeBusy) {
		t.Errorf("one too many: %v", err)
	}
	if err := ask(1); err != nil {
		t.Errorf("a repetition: %v", err)
	}
	d.must(act(t, "n", p.ActInform, nil))
}

// Records keep the first and the latest request of each, so their bytes are bounded, too.
func TestRecordsBoundLongRequests(t *testing.T) {
	d := newRecordsFixture(t)
	ask := func(conversation, id string, length int, want error) {
		t.Helper()
		m := act(t, id, p.ActTaskRequest, func(e *p.Envelope) {
			e.ConversationID, e.Payload = p.ConversationID(conversation), p.TaskRequest{TaskType: "t", Description: strings.Repeat("x", length)}
		})
		m.Weigh()
		if err := d.passes(m); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
	ask("a", "1", 100_000, nil)                                                       // longer than the limit, and alone
	d.must(act(t, "0", p.ActRequest, func(e *p.Envelope) { e.ConversationID = "s" })) // which has no weight
	ask("b", "2", 5000, p.CodeBusy)
	ask("a", "3", 5000, p.CodeBusy) // the first is kept
	d.must(act(t, "z", p.ActFailure, func(e *p.Envelope) { e.ConversationID, e.InReplyTo = "a", "1" }))
	if d.ann.via.weight.Load() != 0 || d.bob.via.weight.Load() != 0 {
		t.Errorf("%d and %d bytes are kept", d.ann.via.weight.Load(), d.bob.via.weight.Load())
	}
	ask("c", "4", 9000, nil)
	ask("c", "5", 9000, nil)
	ask("c", "6", 9000, nil) // in place of 5
	ask("d", "7", 9000, p.CodeBusy)
	ask("c", "8", 4000, nil) // in place of 6
	ask("d", "9", 9000, nil)
	ask("e", "10", 9000, p.CodeBusy)
	if d.ann.via.EndRecords(Disconnected); d.ann.via.weight.Load() != 0 || d.bob.via.weight.Load() != 0 {
		t.Errorf("%d and %d bytes are kept", d.ann.via.weight.Load(), d.bob.via.weight.Load())
	}
}

// A record has no more keys than it needs, however long it is, and keeps no message's text.
func TestRecordForgetsOldKeys(t *testing.T) {
	d := newRecordsFixture(t)
	var last *p.Message
	for i := range 100 {
		last = act(t, fmt.Sprint("q", i), p.ActTaskRequest, nil)
		d.must(last)
	}
	if d.wantOpen(1); len(d.index) != maxRecordKeys {
		t.Errorf("%d keys", len(d.index))
	}
	d.bob.via.EndRecords(Disconnected)
	for k := range d.index {
		if k.name == "q99" && unsafe.StringData(k.name) == unsafe.StringData(string(last.ID())) {
			t.Error("the key of an ended record is a part of the message")
		}
	}
}

// The deadline ends what the table has not, and tells both sides. A further request has its own
// time, a repetition and a CANCEL do not. A long-lived conversation has no deadline.
func TestRecordsExpire(t *testing.T) {
	for name, tt := range map[string]struct {
		first, then p.Performative // zero: none; then comes after 50 s
		by          time.Duration  // the ReplyBy of the first; zero: none
		id          string
		after       time.Duration // zero: never
		told        []string
	}{
		"with ReplyBy":                 {p.ActRequest, 0, 10 * time.Second, "", 10 * time.Second, []string{"cancel q", "q timeout"}},
		"without":                      {p.ActRequest, 0, 0, "", time.Minute, []string{"cancel q", "q timeout"}},
		"a subscription":               {p.ActSubscribe, 0, 0, "", 0, nil},
		"a further round":              {p.ActTaskRequest, p.ActTaskRequest, 0, "more", 50*time.Second + time.Minute, []string{"cancel q", "more timeout"}},
		"a further round after a date": {p.ActTaskRequest, p.ActTaskRequest, 55 * time.Second, "more", 50*time.Second + time.Minute, []string{"cancel q", "more timeout"}},
		"a repetition":                 {p.ActTaskRequest, p.ActTaskRequest, 0, "q", time.Minute, []string{"cancel q", "q timeout"}},
		"a CANCEL":                     {p.ActTaskRequest, p.ActCancel, 0, "no", time.Minute, []string{"no timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRecordsFixture(t)
				begin := d.now
				d.must(act(t, "q", tt.first, func(e *p.Envelope) {
					if tt.by != 0 {
						e.ReplyBy = begin.Add(tt.by)
					}
				}))
				if tt.then != 0 {
					time.Sleep(50 * time.Second)
					d.now = time.Now()
					d.must(act(t, tt.id, tt.then, nil))
				}
				if tt.after == 0 {
					time.Sleep(time.Hour)
					d.wantEnds()
					return
				}
				time.Sleep(time.Until(begin.Add(tt.after - 1)))
				d.wantEnds()
				time.Sleep(2 * time.Nanosecond)
				synctest.Wait()
				d.wantEnds(tt.told...)
				d.stop()
			})
		})
	}
}

// A request whose asker no longer waits ends for the worker, with the reason. The asker, which
// knows, is told nothing, and a late reply is refused.
func TestAbandonedRequest(t *testing.T) {
	for name, c := range map[string]struct {
		replyBy time.Duration
		reason  string
	}{
		"before its deadline": {time.Hour, "the asker no longer waits"},
		"at its deadline":     {-time.Second, "the deadline of the request has passed"},
	} {
		d := newRecordsFixture(t)
		d.wake = epoch // the record does not expire before the asker abandons it
		d.ann.via = nil
		d.spawn("ann")
		q := act(t, "q", p.ActRequest, func(e *p.Envelope) { e.ReplyBy = time.Now().Add(c.replyBy) })
		d.must(q)
		d.Abandon(act(t, "other", p.ActRequest, nil)) // of the same conversation
		d.wantOpen(1)
		d.Abandon(q)
		for _, m := range d.said {
			if why, err := p.PayloadAs[p.Cancel](m); err != nil || why.Reason != c.reason {
				t.Errorf("%s: the reason is %q, %v", name, why.Reason, err)
			}
		}
		d.wantEnds("cancel q")
		d.wantOpen(0)
		d.Abandon(q)
		d.wantEnds()
		if err := d.passes(act(t, "late", p.ActInform, func(e *p.Envelope) { e.Sender, e.Receiver, e.InReplyTo = "bob", "ann", "q" })); !errors.Is(err, p.CodeConversationEnded) {
			t.Errorf("%s: a late reply: %v", name, err)
		}
	}
}

// The record of a request follows its asker to another link. At the asker's node it ends at the
// deadline, without a grace. If the asker goes to another node, and the worker is of a third one,
// the record of that node stands.
func TestRecordFollowsItsAsker(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, works bool // a link between nodes
		after           time.Duration
		want            []string
	}{
		"to a session":                           {from: true, after: 10 * time.Second, want: []string{"cancel q", "q timeout"}},
		"to another session":                     {after: 10 * time.Second, want: []string{"cancel q", "q timeout"}},
		"to another node":                        {to: true, after: 10 * time.Second, want: []string{"cancel q", "q timeout"}},
		"to another node, the worker on a third": {to: true, works: true, after: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRecordsFixture(t)
				via := func(node bool) *Link {
					if node {
						return d.link(Node)
					}
					return d.link(Session)
				}
				d.ann.via, d.bob.via = via(c.from), via(c.works)
				d.must(act(t, "q", p.ActRequest, func(e *p.Envelope) { e.ReplyBy = time.Now().Add(10 * time.Second) }))
				d.Follow("Ann", d.ann.via, via(c.to))
				time.Sleep(c.after)
				synctest.Wait()
				d.wantEnds(c.want...)
				d.wantOpen(0)
			})
		})
	}
}

// The record of a request moves with its worker, also to a place that is not known yet. Behind a
// link that has ended it would never end. If the asker is of another node, its record stands.
func TestRecordMovesWithItsWorker(t *testing.T) {
	for name, c := range map[string]struct {
		asker             Kind
		from, to, ended   bool // a link between nodes
		moved, open, left int  // records behind to, open ones, and those behind from
	}{
		"to a node":                            {asker: Session, to: true, moved: 1, open: 1},
		"to a node, and the asker is of one":   {asker: Node, to: true},
		"to a node that is lost":               {asker: Session, to: true, ended: true, open: 1, left: 1},
		"of another node, to one that is lost": {asker: Node, to: true, ended: true},
		"from node to node":                    {asker: Session, from: true, to: true, moved: 1, open: 1},
		"to no node yet":                       {asker: Session, from: true, open: 1},
	} {
		d := newRecordsFixture(t)
		var from, to *Link
		if c.from {
			from = d.link(Node)
		}
		if c.to {
			to = d.link(Node)
		}
		d.ann.via, d.bob.via = d.link(c.asker), from
		d.must(act(t, "q", p.ActRequest, nil))
		if c.ended {
			to.EndRecords(Disconnected)
		}
		d.Moved("Ann", d.ann.via, d.link(Session)) // which works on nothing
		d.Moved("BOB", from, to)
		if got := [...]int{len(d.eachLocked(to, every)), d.Open(), len(d.eachLocked(party{"bob", from}.key(), every))}; got != [...]int{c.moved, c.open, c.left} {
			t.Errorf("%s: %d moved, %d are open, %d are left", name, got[0], got[1], got[2])
		}
	}
}

// Without a table, an asker that has heard something is not told of the deadline, and still of the
// loss of the worker.
func TestUncertainRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lost := range []bool{false, true} {
			d := newRecordsFixture(t)
			d.must(act(t, "q", p.ActRequest, func(e *p.Envelope) { e.Protocol = "home-made" }))
			d.must(act(t, "a", p.ActAgree, nil))
			if lost {
				d.bob.via.EndRecords(Disconnected)
				d.wantEnds("q disconnected")
				continue
			}
			time.Sleep(2 * time.Minute)
			d.wantEnds()
			d.wantOpen(0)
		}
	})
}

// The sender of a broadcast is told of the loss of a receiver, and not of its silence.
func TestRecordOfABroadcast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lost := range []bool{false, true} {
			d := newRecordsFixture(t)
			m := act(t, "q", p.ActRequest, func(e *p.Envelope) { e.Receiver = "" })
			if err := d.passesAs(passage{message: m, from: d.ann, to: d.bob}); err != nil {
				t.Fatal(err)
			}
			if d.wantOpen(1); lost {
				d.bob.via.EndRecords(Disconnected)
				d.wantEnds("q disconnected")
				continue
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			d.wantEnds()
			d.wantOpen(0)
		}
	})
}

// A further round with a later deadline makes another record the next that is due.
func TestRecordsAreOrderedByDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newRecordsFixture(t)
		for i, by := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second} {
			d.must(act(t, string(rune('a'+i)), p.ActTaskRequest, func(e *p.Envelope) {
				e.ConversationID = p.ConversationID(rune('0' + i%2))
				e.ReplyBy = d.now.Add(by)
			}))
		}
		time.Sleep(21 * time.Second)
		synctest.Wait()
		d.wantEnds("b timeout", "cancel b")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		d.wantEnds("c timeout", "cancel a")
	})
}

// A request that could not be passed on has no record. An answer that could not has not been given,
// and the record goes on, whatever comes meanwhile.
func TestRecordOfWhatFails(t *testing.T) {
	d := newRecordsFixture(t)
	nothing := func() {}
	fails := func(m *p.Message, code p.Code, open int) {
		t.Helper()
		if d.fails(m, code, nothing) {
			t.Errorf("%s: the parties were told", m.ID())
		}
		d.wantOpen(open)
	}
	fails(act(t, "q", p.ActRequest, nil), p.CodeBusy, 0)
	d.must(act(t, "q", p.ActTaskRequest, nil))
	last := act(t, "l", p.ActFailure, nil)
	fails(last, p.CodeBusy, 1)
	fails(last, p.CodeBusy, 1)
	if d.must(last); d.Open() != 0 {
		t.Error("the answer is sent again, and the record is open")
	}
	d.must(act(t, "q", p.ActTaskRequest, nil))
	fails(act(t, "x", p.ActCancel, nil), p.CodeBusy, 1)
	if d.fails(last, p.CodeBusy, func() { d.bob.via.EndRecords(Disconnected) }) != true {
		t.Error("the asker is told twice")
	}
	d.wantEnds("q disconnected")
}

// A worker that has not got the asker's CANCEL gets one at the deadline. One that has gets none. A
// CANCEL that was not passed on leaves the request as it was, which is what the asker is told of,
// also where the worker says something meanwhile.
func TestWorkerGetsCancelOnce(t *testing.T) {
	cancel := act(t, "x", p.ActCancel, nil)
	for name, one := range map[string]struct {
		pass func(*recordsFixture)
		ends []string
	}{
		"it has one":    {func(d *recordsFixture) { d.must(cancel) }, []string{"x timeout"}},
		"not passed on": {func(d *recordsFixture) { d.fails(cancel, p.CodeBusy, func() {}) }, []string{"cancel q", "q timeout"}},
		"refused later": {func(d *recordsFixture) {
			d.must(cancel)
			d.must(cancel.RefuseCopy("bob", p.Stamp{ID: "s", Time: epoch}, &p.Refusal{Code: p.CodeBusy}))
		}, []string{"cancel q", "x timeout"}},
		"while it works": {func(d *recordsFixture) {
			d.fails(cancel, p.CodeBusy, func() { d.must(answer(t, "s", p.ActStatusUpdate)) })
		}, []string{"cancel q", "q timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRecordsFixture(t)
				d.must(act(t, "q", p.ActTaskRequest, nil))
				one.pass(d)
				time.Sleep(time.Hour)
				synctest.Wait()
				d.wantEnds(one.ends...)
				d.stop()
			})
		})
	}
}

// An answer is noted once, also where its receiver answers it before its sender has returned.
func TestRecordOfAnswerAndNext(t *testing.T) {
	d := newRecordsFixture(t)
	d.must(act(t, "q", p.ActCFP, nil))
	passTwice := func(m *p.Message) { // as a namespace and a session do
		t.Helper()
		if _, err := d.pass(d.passage(m), d.passes); err != nil {
			t.Fatal(err)
		}
	}
	passTwice(act(t, "a", p.ActPropose, func(e *p.Envelope) { e.Sender, e.Receiver, e.InReplyTo = "bob", "ann", "q" }))
	d.must(act(t, "y", p.ActAcceptProposal, func(e *p.Envelope) { e.Sender, e.Receiver = "ann", "bob" }))
	d.wantOpen(1)
	d.must(act(t, "r", p.ActInformResult, nil))
	d.wantOpen(0)
	request := act(t, "q", p.ActRequest, nil)
	d.must(request)
	d.must(act(t, "q", p.ActRequest, nil))
	passTwice(request.RefuseCopy("bob", p.Stamp{ID: "s", Time: epoch}, &p.Refusal{Code: p.CodeBusy}))
	d.wantOpen(1) // the other copy may have arrived
}

// A record whose message fails to be passed on while its session ends was told, and the failure is
// nobody's.
func TestFailureAfterTheEnd(t *testing.T) {
	d := newRecordsFixture(t)
	if !d.fails(act(t, "q", p.ActRequest, nil), p.CodeStopped, func() { d.bob.via.EndRecords(Disconnected) }) {
		t.Error("it is told twice")
	}
	d.wantEnds("q disconnected")
	if err := d.passes(act(t, "r", p.ActRequest, nil)); !errors.Is(err, p.CodeStopped) {
		t.Errorf("a request to the lost session: %v", err)
	}
}

// The refusal of one copy of a request ends a record only if no other copy can have arrived.
func TestRecordWithRefusedCopies(t *testing.T) {
	for name, c := range map[string]struct {
		act     p.Performative
		copies  int
		heard   bool // between the copies and the refusals
		refused []p.Code
		open    int
	}{
		"the only one":               {p.ActRequest, 1, false, []p.Code{p.CodeBusy}, 0},
		"one of two":                 {p.ActRequest, 2, false, []p.Code{p.CodeBusy}, 1},
		"two of two":                 {p.ActRequest, 2, false, []p.Code{p.CodeBusy, p.CodeStopped}, 0},
		"after progress":             {p.ActRequest, 1, true, []p.Code{p.CodeBusy}, 1},
		"a full mailbox, of CANCEL":  {p.ActCancel, 1, false, []p.Code{p.CodeBusy}, 1},
		"a stopped agent, of CANCEL": {p.ActCancel, 1, false, []p.Code{p.CodeStopped}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newRecordsFixture(t)
			m := act(t, "q", p.ActRequest, nil)
			d.must(m)
			if c.act == p.ActCancel {
				m = act(t, "x", p.ActCancel, nil)
				d.must(m)
			}
			for range c.copies - 1 {
				again, err := m.With(func(*p.Envelope) {})
				if err != nil {
					t.Fatal(err)
				}
				d.must(again)
			}
			if c.heard {
				d.must(act(t, "a", p.ActAgree, nil))
			}
			for i, code := range c.refused {
				d.must(m.RefuseCopy("bob", p.Stamp{ID: p.MessageID(fmt.Sprint("r", i)), Time: epoch}, &p.Refusal{Code: code}))
			}
			d.wantOpen(c.open)
		})
	}
}

// An asker that was told an end in the worker's name is not told another by a late reply, and is
// answered when it asks again.
func TestAskerIsToldOnce(t *testing.T) {
	for name, end := range map[string]func(*recordsFixture){
		"the loss of the worker": func(d *recordsFixture) { d.bob.via.EndRecords(Disconnected) },
		"the deadline":           func(d *recordsFixture) { time.Sleep(time.Minute); synctest.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRecordsFixture(t)
				ask := func(id string) { d.must(act(t, id, p.ActRequest, func(e *p.Envelope) { e.ReplyWith = "w" + id })) }
				answer := func(ref string) error {
					err := d.passes(act(t, "a", p.ActInform, func(e *p.Envelope) {
						e.Sender, e.Receiver, e.InReplyTo, e.ConversationID = "bob", "ann", ref, "other"
					}))
					return err
				}
				ask("q")
				end(d)
				d.bob.via = d.link(Session) // it is back
				d.now = time.Now()
				for _, ref := range []string{"q", "wq"} {
					if err := answer(ref); !errors.Is(err, p.CodeConversationEnded) {
						t.Errorf("a late reply to %q: %v", ref, err)
					}
				}
				if err := answer("z"); err != nil {
					t.Errorf("something else: %v", err)
				}
				ask("second") // in the same conversation
				if err := answer("q"); !errors.Is(err, p.CodeConversationEnded) {
					t.Errorf("a late reply after another request: %v", err)
				}
				d.wantOpen(1)
				if err := answer("second"); err != nil {
					t.Error(err)
				}
				ask("q")
				if err := answer("wq"); err != nil {
					t.Errorf("the reply to the repetition: %v", err)
				}
				d.stop()
			})
		})
	}
}

// The receipt for a CANCEL in the name of an asker that has gone is for nobody, also when the asker
// has come back and has sent its request again.
func TestReceiptOfTheLost(t *testing.T) {
	d := newRecordsFixture(t)
	d.must(act(t, "q", p.ActRequest, nil))
	d.ann.via.EndRecords(Disconnected)
	if len(d.said) != 1 {
		t.Fatalf("told %+v", d.said)
	}
	withdrawn := string(d.said[0].ID())
	d.wantEnds("cancel q")
	d.ann.via = d.link(Session)
	reply := func(to, conversation string) *p.Message {
		return act(t, "a"+to, p.ActInform, func(e *p.Envelope) {
			e.Sender, e.Receiver, e.InReplyTo, e.ConversationID = "bob", "ann", to, p.ConversationID(conversation)
		})
	}
	if err := d.passes(reply(withdrawn, "other")); !errors.Is(err, p.CodeConversationEnded) {
		t.Errorf("the receipt: %v", err)
	}
	again := act(t, "q", p.ActRequest, nil)
	d.must(again)
	if err := d.passes(reply(withdrawn, string(again.ConversationID()))); !errors.Is(err, p.CodeConversationEnded) {
		t.Errorf("the receipt after the request was sent again: %v", err)
	}
	if err := d.passes(reply("q", string(again.ConversationID()))); err != nil {
		t.Errorf("the answer to the request that was sent again: %v", err)
	}
}

// spawn starts an agent of this process without behaviour.
func (d *recordsFixture) spawn(id p.AgentID) {
	d.t.Helper()
	if _, err := d.system.Spawn(d.t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return client{} }}); err != nil {
		d.t.Fatal(err)
	}
}

// An agent that has stopped is told nothing about its requests: its next run, which has begun here,
// would not know them.
func TestStoppedAgentIsNotTold(t *testing.T) {
	d := newRecordsFixture(t)
	d.bob.via = nil
	d.must(act(t, "q", p.ActRequest, nil))
	d.must(act(t, "r", p.ActRequest, func(e *p.Envelope) { e.Sender, e.Receiver, e.ConversationID = "bob", "ann", "other" }))
	d.spawn("bob")
	d.AgentStopped("Bob")
	d.wantEnds("cancel r", "q agent_stopped")
}

// The asker waits for an answer to what it has asked last, whatever else is said.
func TestAskerWaitsForWhatItHasAsked(t *testing.T) {
	propose := func(e *p.Envelope) { e.Sender, e.Receiver, e.InReplyTo = "bob", "ann", "q" }
	for name, one := range map[string]struct {
		first, then p.Performative
		mod         func(*p.Envelope) // of then
		want        string
	}{
		"a proposal":                {p.ActCFP, p.ActPropose, propose, "q disconnected"},
		"a notice of the asker":     {p.ActTaskRequest, p.ActInform, func(e *p.Envelope) { e.Sender, e.Receiver, e.InReplyTo = "ann", "bob", "" }, "q disconnected"},
		"a further round":           {p.ActTaskRequest, p.ActTaskRequest, nil, "m disconnected"},
		"the withdrawal of a round": {p.ActTaskRequest, p.ActCancel, nil, "m disconnected"},
	} {
		d := newRecordsFixture(t)
		d.must(act(t, "q", one.first, nil))
		d.must(act(t, "m", one.then, one.mod))
		d.wantOpen(1)
		d.bob.via.EndRecords(Disconnected)
		if got := d.ends(); !slices.Equal(got, []string{one.want}) {
			t.Errorf("%s: told %q, want %q", name, got, one.want)
		}
	}
}

// A copy of a request that is lost with its link, after the worker has answered another one, is no
// second end of the request. A copy that is refused for another reason is told.
func TestCopyIsLostWithItsLink(t *testing.T) {
	for code, told := range map[p.Code]bool{p.CodeDisconnected: false, p.CodeBusy: true} {
		d := newRecordsFixture(t)
		q := act(t, "q", p.ActRequest, nil)
		d.must(q)
		d.must(act(t, "a", p.ActAgree, func(e *p.Envelope) { e.Sender, e.Receiver, e.InReplyTo = "bob", "ann", "q" }))
		d.must(q)
		if got := d.bob.via.refuseCopy(q, &p.Refusal{Code: code}); got != told {
			t.Errorf("%s: told is %t", code, got)
		}
		d.wantOpen(1)
		d.bob.via.EndRecords(Disconnected)
		d.wantEnds("q disconnected")
	}
}

// The only copy of a request that has not been written ends the record, unless it may have arrived.
func TestOnlyCopyIsNotWritten(t *testing.T) {
	for code, open := range map[p.Code]int{p.CodeDisconnected: 1, p.CodeStopped: 0} {
		d := newRecordsFixture(t)
		d.spawn("ann")
		d.ann.via = nil
		q := act(t, "q", p.ActRequest, nil)
		d.must(q)
		d.bob.via.Undelivered(q, &p.Refusal{Code: code})
		d.wantOpen(open)
	}
}

// remote is the destination of an agent of another node.
type remote struct{ labelled }

func (r remote) Load() *actors.Load         { return r.via.Load() }
func (remote) Wait() time.Duration          { return 0 }
func (r remote) Deliver(m *p.Message) error { return r.via.SendTo(m, nil, m.Receiver(), Unchanged) }

// A call that did not leave by its link is told so, also if the link is lost by then: its receiver
// may have moved before, and is not lost.
func TestUnsentCallOfALostLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newRecordsFixture(t)
		d.spawn("ann")
		var out sentMessages
		l := d.NewLink(Node, &out, testLimits)
		if _, err := d.system.Register("bob", remote{labelled{via: l}}); err != nil {
			t.Fatal(err)
		}
		ann, _ := d.system.Lookup("ann")
		q := act(t, "q", p.ActRequest, func(e *p.Envelope) { e.ReplyBy = time.Now().Add(time.Minute) })
		done := make(chan struct{})
		go func() {
			defer close(done)
			m, err := ann.Ask(t.Context(), q)
			if err != nil {
				t.Error(err)
			} else if r := m.AsRefusal(); r == nil || r.Code != p.CodeStopped {
				t.Errorf("told %v", r)
			}
		}()
		synctest.Wait()
		d.wantOpen(0) // the call is the memory of it
		l.EndRecords(Disconnected)
		l.Undelivered(q, &p.Refusal{Code: p.CodeStopped})
		<-done
		d.stop()
	})
}

// An agent that has left its link gets no CANCEL where it is now, and its askers are told.
func TestLostWorkerIsNotTold(t *testing.T) {
	d := newRecordsFixture(t)
	d.must(act(t, "q", p.ActRequest, nil))
	d.must(act(t, "r", p.ActRequest, func(e *p.Envelope) { e.Sender, e.Receiver, e.ConversationID = "bob", "ann", "other" }))
	d.bob.via.LoseWorker("Bob")
	d.wantEnds("q disconnected")
	d.wantOpen(1)
}

// An asker beyond an uplink is told over the session that its request came by, and not over a later
// one of the uplink, by which the far node knows other names.
func TestEndGoesOverTheUplinkOfItsRequest(t *testing.T) {
	d := newRecordsFixture(t)
	var over, later sentMessages
	d.ann.via = d.NewLink(Uplink, &over, testLimits)
	next := d.NewLink(Uplink, &later, testLimits)
	d.must(act(t, "q", p.ActRequest, nil))
	d.beyond = func(p.AgentID) *Link { return next }
	d.say = func(all []ending, _ bool) { d.deliverWithRetry(all, true) }
	d.bob.via.LoseWorker("bob")
	if len(over) != 1 || len(later) != 0 || over[0].InReplyTo() != "q" {
		t.Errorf("told %v over the session of the request, %v over the later one", over, later)
	}
}

// The end of a record goes to where its party is now, in the form of that link. To one that the
// directory does not have, because it was only heard over a link to a node, it goes over that link.
func TestWayOfAnEnd(t *testing.T) {
	for name, one := range map[string]struct {
		kind          Kind
		now           p.AgentID // the label of the agent where it is now; empty: it is not in the directory
		before, after int       // how many messages are sent over the two links
	}{
		"heard over a link to a node": {Node, "", 1, 0},
		"moved from a node":           {Node, "label", 0, 1},
		"moved from a session":        {Session, "label", 0, 1},
		"of a session, and has left":  {Session, "", 0, 0},
	} {
		d := newRecordsFixture(t)
		var before, after sentMessages
		if one.now != "" {
			if _, err := d.system.Register("ann", labelled{via: d.NewLink(Session, &after, testLimits), label: one.now}); err != nil {
				t.Fatal(err)
			}
		}
		to := party{"ann", d.NewLink(one.kind, &before, testLimits)}
		d.deliverWithRetry([]ending{{act(t, "a", p.ActFailure, nil), to}}, true)
		if len(before) != one.before || len(after) != one.after || one.after == 1 && after[0].Receiver() != one.now {
			t.Errorf("%s: sent %v over the link of the request, %v over the present one", name, before, after)
		}
		if dead := d.system.Counts().DeadLetters; dead != uint64(1-one.before-one.after) {
			t.Errorf("%s: %d dead letters", name, dead)
		}
	}
}

// labelled is the destination of an agent that the other end of a link knows by another name.
type labelled struct {
	actors.Destination
	via   *Link
	label p.AgentID
}

func (l labelled) Via() *Link                       { return l.via }
func (l labelled) Labelled(m *p.Message) *p.Message { return m.Readdressed(m.Sender(), l.label) }

// sentMessages is a [Sender] that keeps what it is to send.
type sentMessages []*p.Message

func (s *sentMessages) Send(m *p.Message) error {
	*s = append(*s, m)
	return nil
}

// The record of a conversation of an agent of this process, which is kept for the name of a
// namespace, tells nobody of its end: the conversation does.
func TestRecordForTheNameIsSilent(t *testing.T) {
	d := newRecordsFixture(t)
	d.spawn("worker")
	m := act(t, "q", p.ActQueryCapabilities, func(e *p.Envelope) {
		e.Receiver, e.Payload = "worker", p.QueryCapabilities{Type: p.QuerySummary}
	})
	if err := d.passesAs(passage{message: m, from: d.ann, to: party{id: "worker"}, as: "crm"}); err != nil {
		t.Fatal(err)
	}
	d.wantOpen(1)
	d.AgentStopped("worker")
	d.wantOpen(0)
	d.wantEnds()
}

// bury ends so many requests, the first of which has the number from.
func (d *recordsFixture) bury(t testing.TB, from, many int) {
	t.Helper()
	for i := range many {
		id := fmt.Sprint(from + i)
		d.must(act(t, id, p.ActRequest, func(e *p.Envelope) { e.ConversationID = p.ConversationID(id) }))
		d.mu.Lock()
		for _, r := range d.eachLocked(d.bob.via, every) {
			d.finishLocked([]*record{r}, Disconnected)
		}
		d.mu.Unlock()
	}
	d.said = nil
}

// A tombstone that is gone makes room for another one, and the oldest one does so when there are
// too many.
func TestGoneTombstones(t *testing.T) {
	d := newRecordsFixture(t)
	d.ann.via.limits.Open, d.bob.via.limits.Open = 1<<30, 1<<30
	d.bury(t, 0, maxTombstones)
	oldest := d.tombstones.Front()
	second := oldest.Next().Value.(*record)
	for range maxTombstones / 2 {
		d.removeLocked(d.tombstones.Back().Value.(*record))
	}
	d.bury(t, maxTombstones, maxTombstones/2) // in their place
	if d.tombstones.Len() != maxTombstones || d.tombstones.Front() != oldest || len(d.due) != maxTombstones {
		t.Errorf("%d are kept, with %d deadlines, and perhaps without the oldest", d.tombstones.Len(), len(d.due))
	}
	d.bury(t, 2*maxTombstones, 1)
	if first := d.tombstones.Front().Value; d.tombstones.Len() != maxTombstones || first != second {
		t.Errorf("%d are kept, from %v on, want it from %v on", d.tombstones.Len(), first, second)
	}
}

// BenchmarkTombstones ends a request when all tombstones are in use.
func BenchmarkTombstones(b *testing.B) {
	d := newRecordsFixture(b)
	d.ann.via.limits.Open, d.bob.via.limits.Open = 1<<30, 1<<30
	d.bury(b, 0, maxTombstones)
	b.ReportAllocs()
	for next := maxTombstones; b.Loop(); next++ {
		d.bury(b, next, 1)
	}
}

// Tombstones are bounded; the latest are kept.
func TestTombstonesAreBounded(t *testing.T) {
	d := newRecordsFixture(t)
	d.ann.via.limits.Open, d.bob.via.limits.Open = 1<<30, 1<<30
	d.bury(t, 0, maxTombstones+2)
	if d.tombstones.Len() != maxTombstones || len(d.due) != maxTombstones {
		t.Errorf("%d are kept, with %d deadlines", d.tombstones.Len(), len(d.due))
	}
	for i, want := range map[int]bool{0: false, 1: false, 2: true, maxTombstones + 1: true} {
		err := d.passes(act(t, "a", p.ActFailure, func(e *p.Envelope) { e.InReplyTo, e.ConversationID = fmt.Sprint(i), "other" }))
		if got := errors.Is(err, p.CodeConversationEnded); got != want {
			t.Errorf("a late reply to %d: %v", i, err)
		}
	}
}

// client is an agent without behaviour.
type client struct{}

// Describe returns no capabilities.
func (client) Describe() p.Capabilities { return p.Capabilities{} }

// A request within a conversation of an agent of this process has no record.
func TestConversationsHaveNoRecord(t *testing.T) {
	d := newRecordsFixture(t)
	d.spawn("worker")
	query := act(t, "q", p.ActQueryCapabilities, func(e *p.Envelope) {
		e.Receiver, e.Payload = "worker", p.QueryCapabilities{Type: p.QuerySummary}
	})
	worker, _ := d.system.Find("worker")
	for open, m := range []*p.Message{query, act(t, "r", p.ActRequest, func(e *p.Envelope) { e.Receiver = "worker" })} {
		if err := d.passesAs(passage{message: m, from: d.ann, to: party{id: "worker"}, here: worker}); err != nil {
			t.Fatal(err)
		}
		d.wantOpen(open) // the REQUEST, for which the agent has no role
	}
}

// Where no record is open or remembered, a message that begins none waits for no other, and is
// refused by a link that has ended or is full.
func TestNoteWithoutRecords(t *testing.T) {
	d := newRecordsFixture(t)
	d.spawn("worker")
	worker, _ := d.system.Find("worker")
	to := party{id: "worker"}
	inform := act(t, "i", p.ActInform, nil)
	noted := func(on passage) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		done := make(chan error, 1)
		go func() {
			_, _, err := d.note(on, d.clock)
			done <- err
		}()
		select {
		case err := <-done:
			return err
		case <-time.After(patience.Time):
			return errors.New("it waits for the lock")
		}
	}
	if err := noted(passage{message: inform, from: d.ann, to: to, here: worker}); err != nil {
		t.Error(err)
	}
	query := act(t, "q", p.ActQueryCapabilities, func(e *p.Envelope) {
		e.Receiver, e.Payload = "worker", p.QueryCapabilities{Type: p.QuerySummary}
	})
	for _, room := range []bool{true, false} { // for the conversation that it opens
		if !room {
			d.ann.via.limits.Open = 0
		}
		if err := noted(passage{message: query, from: d.ann, to: to, here: worker}); room != (err == nil) || !room && !errors.Is(err, p.CodeBusy) {
			t.Errorf("room %t: %v", room, err)
		}
	}
	d.ann.via.EndRecords(Disconnected)
	if err := noted(passage{message: inform, from: d.ann, to: to, here: worker}); !errors.Is(err, p.CodeStopped) {
		t.Errorf("from a lost link: %v", err)
	}
	if err := noted(passage{message: inform, from: to, to: d.ann, here: worker}); !errors.Is(err, p.CodeStopped) {
		t.Errorf("to a lost link: %v", err)
	}
}

// A message that passes without the lock while its link is lost is passed on, or refused; one that
// comes later is refused.
func TestNoteWhileALinkIsLost(t *testing.T) {
	d := newRecordsFixture(t)
	inform := act(t, "i", p.ActInform, nil)
	lost := make(chan struct{})
	go func() {
		d.ann.via.EndRecords(Disconnected)
		close(lost)
	}()
	for after := false; !after; {
		select {
		case <-lost:
			after = true
		default:
		}
		if err := d.passes(inform); (err != nil || after) && !errors.Is(err, p.CodeStopped) {
			t.Errorf("after the loss %t: %v", after, err)
		}
	}
}

// The time is asked for when a request begins without a ReplyBy, and for no other message. The
// records are locked then, also for the first one.
func TestNoteNeedsTheTimeOfRequestsOnly(t *testing.T) {
	d := newRecordsFixture(t)
	calls := 0
	clock := func() time.Time {
		if calls++; d.mu.TryLock() {
			t.Error("the records are not locked")
			d.mu.Unlock()
		}
		return d.now
	}
	for _, m := range []struct {
		message *p.Message
		calls   int
	}{
		{act(t, "i", p.ActInform, nil), 0},
		{act(t, "q", p.ActRequest, nil), 1},
		{act(t, "a", p.ActAgree, nil), 0},
		{act(t, "q", p.ActRequest, nil), 0},
		{act(t, "r", p.ActRequest, func(e *p.Envelope) { e.ReplyBy = d.now.Add(time.Minute) }), 0},
	} {
		calls = 0
		if _, _, err := d.note(passage{message: m.message, from: d.party(m.message.Sender()), to: d.party(m.message.Receiver())}, clock); err != nil {
			t.Fatal(err)
		}
		if calls != m.calls {
			t.Errorf("%s asked for the time %d times, want %d", m.message.ID(), calls, m.calls)
		}
	}
}

// A request that comes again and again leaves room for the keys of other requests.
func TestKeysOfARepeatedRequest(t *testing.T) {
	d := newRecordsFixture(t)
	for range maxRecordKeys {
		d.must(act(t, "q", p.ActRequest, nil))
	}
	if keys := d.eachLocked(d.ann.via, every)[0].keys; len(keys) != 2 {
		t.Errorf("keys = %v, want two: of the conversation and of the request", keys)
	}
}

// A request with two replies allocates once: the record.
func TestRecordAllocs(t *testing.T) {
	racetest.Skip(t) // the race detector allocates
	d := newRecordsFixture(t)
	replied := func(id string, act p.Performative) *p.Message {
		m, err := p.New(p.Envelope{
			ID: p.MessageID(id), Performative: act, Sender: "bob", Receiver: "ann", ConversationID: "c", Timestamp: epoch, InReplyTo: "q", Payload: p.Raw(`{}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	request, agree, inform := act(t, "q", p.ActRequest, nil), replied("a", p.ActAgree), replied("r", p.ActInform)
	d.must(act(t, "other", p.ActRequest, func(e *p.Envelope) { e.ConversationID = "other" })) // the agents keep their lists
	allocs := testing.AllocsPerRun(100, func() {
		d.must(request)
		d.must(agree)
		d.must(inform)
	})
	if d.wantOpen(1); allocs > 1 {
		t.Errorf("%v allocations, want 1", allocs)
	}
}

// A tombstone does not keep the memory of the ids, which may be parts of messages.
func TestTombstoneFreesRecordRoom(t *testing.T) {
	d := newRecordsFixture(t)
	record, _, err := d.note(d.passage(act(t, "q", p.ActRequest, nil)), d.clock)
	if err != nil {
		t.Fatal(err)
	}
	d.bob.via.EndRecords(Disconnected)
	d.wantEnds("q disconnected")
	if !record.tombstone || len(record.keys) < 2 || record.ids != nil || record.room.ids[0] != "" || record.room.keys[0].name != "" {
		t.Errorf("the tombstone has %d keys, the ids %q, and in its room %q", len(record.keys), record.ids, record.room)
	}
}

// A message with a new sender or receiver keeps its weight.
func TestRenamedKeepsItsWeight(t *testing.T) {
	m := act(t, "q", p.ActInform, func(e *p.Envelope) { e.Payload = p.Raw(`{"x":"` + strings.Repeat("x", 5000) + `"}`) })
	if w := m.Readdressed("a", "b").Weight(); w != 0 {
		t.Errorf("made here: %d", w)
	}
	m.Weigh()
	if w := m.Readdressed("a", "b").Weight(); w < 5000 {
		t.Errorf("from outside: %d", w)
	}
}

// answer makes a message from "bob" that answers the request q.
func answer(t *testing.T, id string, a p.Performative) *p.Message {
	t.Helper()
	return act(t, id, a, func(e *p.Envelope) { e.Sender, e.Receiver, e.InReplyTo = "bob", "ann", "q" })
}

// What the receiver of an answer says at once comes after the answer, although the relay has not
// returned from passing it on.
func TestRecordOfAnAnswerThatIsAnsweredAtOnce(t *testing.T) {
	d := newRecordsFixture(t)
	d.must(act(t, "q", p.ActCFP, nil))
	if _, err := d.pass(d.passage(answer(t, "a", p.ActPropose)), func(*p.Message) error {
		d.must(act(t, "y", p.ActAcceptProposal, func(e *p.Envelope) { e.Sender, e.Receiver = "ann", "bob" }))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	d.wantOpen(1)
	d.must(act(t, "r", p.ActInformResult, nil))
	d.wantOpen(0)
	d.must(act(t, "q", p.ActRequest, nil)) // a further request while the last answer of an earlier one is passed on
	if _, err := d.pass(d.passage(act(t, "l", p.ActFailure, nil)), func(*p.Message) error {
		d.must(act(t, "q2", p.ActRequest, nil))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	d.wantOpen(1)
	d.bob.via.EndRecords(Disconnected)
	d.wantEnds("q2 disconnected")
}

// Whoever gets the last answer of a request no longer waits for it, although the relay has not
// returned from passing it on: there is room for another request, and an asker that leaves then
// leaves nothing that the worker should hear of.
func TestRecordOfAnAnswerThatIsOnItsWay(t *testing.T) {
	d := newRecordsFixture(t)
	for i := range testLimits.Open {
		d.must(act(t, fmt.Sprint("q", i), p.ActTaskRequest, func(e *p.Envelope) { e.ConversationID = p.ConversationID(e.ID) }))
	}
	last := act(t, "l", p.ActFailure, func(e *p.Envelope) { e.InReplyTo, e.ConversationID = "q0", "q0" })
	if _, err := d.pass(d.passage(last), func(*p.Message) error {
		d.wantOpen(testLimits.Open - 1)
		return d.passes(act(t, "next", p.ActTaskRequest, nil))
	}); err != nil {
		t.Error(err)
	}
	d.ann.via.EndRecords(Disconnected)
	d.wantEnds("cancel next", "cancel q1", "cancel q2", "cancel q3")
}

// An answer that could not be passed on is not the end of its record: that ends with the session
// meanwhile, or goes on beside a later request of the conversation.
func TestRecordOfALastAnswerThatFails(t *testing.T) {
	for name, one := range map[string]struct {
		meanwhile func(*testing.T, *recordsFixture)
		told      bool
		then      *p.Message // to the later request by its conversation
		ends      []string
	}{
		"its session has ended": {func(_ *testing.T, d *recordsFixture) { d.bob.via.EndRecords(Disconnected) }, true, nil, []string{"q disconnected"}},
		"its asker has followed to another session, or gone": {
			func(_ *testing.T, d *recordsFixture) { d.ann.via.EndRecords(Replaced) },
			false, nil, nil,
		},
		"a later request has its key": {
			func(t *testing.T, d *recordsFixture) { d.must(act(t, "q2", p.ActTaskRequest, nil)) },
			false, act(t, "s", p.ActFailure, func(e *p.Envelope) { e.InReplyTo = "elsewhere" }),
			[]string{"cancel q", "q timeout"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRecordsFixture(t)
				d.must(act(t, "q", p.ActTaskRequest, nil))
				if told := d.fails(act(t, "l", p.ActFailure, nil), p.CodeBusy, func() { one.meanwhile(t, d) }); told != one.told {
					t.Errorf("told %t", told)
				}
				if one.then != nil {
					d.must(one.then)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				d.wantOpen(0)
				d.wantEnds(one.ends...)
				d.stop()
			})
		})
	}
}

// A further message of the asker that was not passed on has not been sent: it may be sent again,
// and the record ends as its table says, or at its deadline.
func TestRecordOfAFurtherMessageThatFails(t *testing.T) {
	for name, one := range map[string]struct {
		further         p.Performative
		again, answered bool
		open            int      // before the deadline
		ends            []string // at the deadline
	}{
		"a further request":                 {p.ActAcceptProposal, false, false, 1, []string{"cancel q", "q timeout"}},
		"a further request that goes again": {p.ActAcceptProposal, true, false, 1, []string{"cancel q", "y timeout"}},
		"one that goes again, and its end":  {p.ActAcceptProposal, true, true, 0, nil},
		"a last message":                    {p.ActRejectProposal, false, false, 1, []string{"cancel q", "q timeout"}},
		"a last message that goes again":    {p.ActRejectProposal, true, false, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newRecordsFixture(t)
				d.must(act(t, "q", p.ActCFP, nil))
				d.must(answer(t, "a", p.ActPropose))
				further := act(t, "y", one.further, func(e *p.Envelope) { e.Sender, e.Receiver = "ann", "bob" })
				d.fails(further, p.CodeBusy, func() {})
				d.wantOpen(1)
				if one.again {
					d.must(further)
				}
				if one.answered {
					d.must(answer(t, "r", p.ActInformResult))
				}
				d.wantOpen(one.open)
				time.Sleep(time.Hour)
				synctest.Wait()
				d.wantOpen(0)
				d.wantEnds(one.ends...)
				d.stop()
			})
		})
	}
}

// A message of the asker that fails changes nothing of a record that has ended or gone on meanwhile.
func TestRecordThatChangesWhileAMessageFails(t *testing.T) {
	for name, one := range map[string]struct {
		meanwhile func(*recordsFixture)
		then      *p.Message
	}{
		"it has ended": {func(d *recordsFixture) { d.must(answer(t, "r", p.ActInformResult)) }, nil},
		"it has gone": {func(d *recordsFixture) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.removeLocked(d.due[0])
		}, nil},
		"it has gone on": {func(d *recordsFixture) { d.must(answer(t, "s", p.ActStatusUpdate)) }, answer(t, "r", p.ActInformResult)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newRecordsFixture(t)
			d.must(act(t, "q", p.ActTaskRequest, nil))
			d.must(answer(t, "a", p.ActTaskAccept))
			d.fails(act(t, "x", p.ActCancel, func(e *p.Envelope) { e.InReplyTo, e.Payload = "q", p.Cancel{Reason: "no"} }), p.CodeStopped, func() { one.meanwhile(d) })
			if one.then != nil {
				d.must(one.then)
			}
			if d.wantOpen(0); len(d.due) != 0 {
				t.Errorf("%d deadlines are left", len(d.due))
			}
			d.wantEnds()
		})
	}
}

// An agent of this process that a namespace has chosen for its own request has one record, which
// ends once.
func TestRecordOfAnAgentThatAsksItself(t *testing.T) {
	d := newRecordsFixture(t)
	here := party{id: "Ann"}
	on := passage{message: act(t, "q", p.ActRequest, func(e *p.Envelope) { e.Receiver = "ANN" }), from: here, to: party{id: "ANN"}, as: "calc"}
	if err := d.passesAs(on); err != nil {
		t.Fatal(err)
	}
	if all := d.eachLocked(here.key(), every); len(all) != 1 {
		t.Errorf("there are %d records of the agent, want 1", len(all))
	}
	d.AgentStopped("ann")
	d.wantOpen(0)
	d.wantEnds()
}

// A name that two requests of an asker have is that of the one which was sent last, also again.
func TestNameOfTwoRequests(t *testing.T) {
	d := newRecordsFixture(t)
	for _, asked := range []*p.Message{
		act(t, "q", p.ActRequest, nil),
		act(t, "r", p.ActRequest, func(e *p.Envelope) { e.Receiver, e.ConversationID, e.ReplyWith = "cid", "d", "q" }),
		act(t, "q", p.ActRequest, nil),
	} {
		d.must(asked)
		answer := act(t, "a", p.ActAgree, func(e *p.Envelope) { e.Sender, e.ConversationID = asked.Receiver(), "other" })
		if of, _ := d.recordOf(answer, d.party(asked.Receiver()), d.ann); of == nil || of.asked != asked {
			t.Errorf("after %s, the answer of %s belongs to no request of it", asked.ID(), asked.Receiver())
		}
	}
}

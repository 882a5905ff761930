package link

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

// seeds returns frames of all kinds.
func seeds() [][]byte {
	h := &hello{
		from: nodeB, to: nodeA, session: 1, theirs: 1, received: 1, floor: 1, minVersion: 1, maxVersion: 1,
		tables: map[string]uint64{"x": 1 << 63, "y": 2},
	}
	e := [][]byte{envelopeOf(nil), envelopeOf([]byte("\x0a\x01x"))}
	all := [][]byte{nil, Bye("it rains"), (&frame{hello: h}).append(nil)}
	for _, f := range []frame{
		{ack: 1},
		{first: 2, envelopes: e},
		{first: 1, ack: 1, sent: -1, envelopes: e, origins: []originOf{{0, performatives.Origin{Principal: "x"}}, {1, performatives.Origin{Activation: 7, Answers: 8, Forwards: 9}}}},
		{controls: [][]byte{{}, {1}}},
		{ack: 1 << 63},
		{ack: 1, last: true, wait: 48},
	} {
		all = append(all, f.append(nil))
	}
	return all
}

// FuzzReceive passes any frame to a link that has met its peer. If it is refused, the link is as it
// was, except that a bye is recorded; else, the link works on with a peer that begins anew.
func FuzzReceive(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s, s)
		f.Add(s[:len(s)*2/3], s)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		a, b := pair(nil)
		meet(t, a, b)
		send(t, b, 1, performatives.Normal)
		exchange(t, a, b)
		send(t, a, 2, performatives.Normal)
		valid := a.Next(noon)
		send(t, a, 3, performatives.Low)
		for _, data := range [][]byte{first, second} {
			before, gotLast := fmt.Sprintf("%+v", *a), a.gotLast
			r, err := a.Receive(data, noon)
			if err == nil {
				continue
			}
			if f, err := readFrame(data); err == nil && f.bye != "" { // the one change
				if a.gotLast != (gotLast || a.met) {
					t.Fatalf("met %t: gotLast was %t, is %t", a.met, gotLast, a.gotLast)
				}
				a.gotLast = gotLast
			}
			if after := fmt.Sprintf("%+v", *a); after != before {
				t.Fatalf("%v: was\n%s, is\n%s", err, before, after)
			}
			if diff := cmp.Diff(Received{}, r); diff != "" {
				t.Fatal(diff)
			}
		}
		checkCounts(t, a)
		receive(t, b, valid, noon)
		b, _ = pair(func(b, _ *Options) { b.Self, b.Peer, b.Session = nodeB, nodeA, 1000 })
		if a.theirs < 1000 && a.session < 1<<62 {
			meet(t, a, b)
		}
		checkCounts(t, a)
	})
}

// checkCounts checks the invariants of the numbers of a link.
func checkCounts(t *testing.T, l *Link) {
	t.Helper()
	weight, waiting := 0, 0
	for _, p := range l.flight.all() {
		weight += len(p.data)
	}
	for i := range l.bands {
		for _, p := range l.bands[i].all() {
			waiting += len(p.data)
		}
	}
	if l.weight != weight || l.bytes != waiting || l.resent > l.flight.len() || l.resent < 0 || l.next <= uint64(l.flight.len()) {
		t.Fatalf("flight of %d bytes, %d wait: %+v", weight, waiting, *l)
	}
}

// FuzzReadFrame: no input makes readFrame panic. What it reads is what generated code reads, and is
// the same when it is written and read again.
func FuzzReadFrame(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
		f.Add(s[:len(s)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readFrame(data)
		if err != nil {
			return
		}
		again, err := readFrame(got.append(nil))
		if err != nil {
			t.Fatalf("%+v is not read again: %v", got, err)
		}
		if diff := cmp.Diff(got, again, cmp.AllowUnexported(frame{}, hello{}, originOf{})); diff != "" {
			t.Fatal(diff)
		}
		var generated ribosomev1.LinkFrame
		if proto.Unmarshal(got.append(nil), &generated) != nil {
			return // an envelope is looked at when it is delivered
		}
		checkGenerated(t, got, &generated)
	})
}

// checkGenerated compares a frame with what generated code has read.
func checkGenerated(t *testing.T, f *frame, g *ribosomev1.LinkFrame) {
	t.Helper()
	want := frame{
		first: g.GetFirst(), sent: int64(g.GetSent()), ack: g.GetAck(), controls: g.GetControls(), bye: g.GetBye(), last: g.GetLast(), wait: g.GetWaitMs(), envelopes: f.envelopes,
	}
	for _, o := range g.GetOrigins() {
		want.origins = append(want.origins, originOf{int(o.GetIndex()), performatives.Origin{
			Principal: o.GetPrincipal(), Activation: o.GetActivation(), Answers: o.GetAnswers(), Forwards: int(min(o.GetForwards(), performatives.MaxForwards)),
		}})
	}
	if h := g.GetHello(); h != nil {
		want.hello = &hello{
			session: h.GetSession(), theirs: h.GetTheirs(), received: h.GetReceived(), floor: h.GetFloor(),
			minVersion: h.GetMinVersion(), maxVersion: h.GetMaxVersion(), tables: make(map[string]uint64),
		}
		want.hello.from.Name, want.hello.from.Epoch = h.GetFrom(), h.GetFromEpoch()
		want.hello.to.Name, want.hello.to.Epoch = h.GetTo(), h.GetToEpoch()
		for _, e := range h.GetTables() {
			want.hello.tables[e.GetName()] = e.GetHash()
		}
	}
	if diff := cmp.Diff(&want, f, cmp.AllowUnexported(frame{}, hello{}, originOf{})); diff != "" {
		t.Fatalf("(-generated code +this package):\n%s", diff)
	}
	if len(g.GetEnvelopes()) != len(f.envelopes) {
		t.Fatalf("generated code reads %d envelopes of %d", len(g.GetEnvelopes()), len(f.envelopes))
	}
}

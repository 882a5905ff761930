package codontest

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	"github.com/ribosome-agents/ribosome/performatives"
)

// hurried returns a codon with a row for the refusal of a request by the runtime, and with a
// command that is not of a job.
func hurried() *codons.Codon {
	return reviewOf(func(d *codons.Definition) {
		d.Table.Rows = append(d.Table.Rows,
			machine.Asks("waiting").When(machine.Commanded("hurry")).Stay(machine.Report("hurried")).Because("a command of no job"),
			machine.Asks("waiting").When(machine.Undeliverable(performatives.ActRequest)).Stay().Because("a retry follows"))
	})
}

// TestNetworkDisturbs routes many requests to an agent that is not there, so that each delivery is
// a refusal. Some are lost, delivered at once, later, much later, twice, or refused as busy.
func TestNetworkDisturbs(t *testing.T) {
	systemtest.Bubble(t, func(t *testing.T) {
		const n = 1000
		review := hurried()
		w, err := newWorld(t.Context(), review, newOptions(nil), 1)
		if err != nil {
			t.Fatal(err)
		}
		refused := w.Events.Subscribe(events.SubscribeOptions{Capacity: n, Kinds: []events.Kind{events.KindMessageRefused}})
		net := &network{dice: dice{1}, codons: w.codons}
		fates, now := map[string]int{}, map[performatives.MessageID]string{}
		began := time.Now()
		for i := range n {
			m, err := performatives.New(performatives.Envelope{
				ID: performatives.MessageID("r" + strconv.Itoa(i)), Timestamp: began, Performative: performatives.ActRequest, Sender: askerID, Receiver: "Nobody",
				ConversationID: "c", Protocol: review.Name(), MessageType: "REVIEW_REQUEST", Payload: change{},
			})
			if err != nil {
				t.Fatal(err)
			}
			switch err := net.disturb(&w.Net, m); {
			case err == nil:
				now[m.ID()] = "lost"
			case errors.Is(err, performatives.CodeBusy):
				now[m.ID()] = "busy"
			default:
				now[m.ID()] = "at once"
			}
		}
		time.Sleep(2 * longWay)
		synctest.Wait()
		w.stop(context.WithoutCancel(t.Context()))
		refused.Close()
		for r := range refused.C {
			e, ok := r.Event.(events.MessageRefused)
			if !ok || now[e.Message.ID()] == "" {
				continue
			}
			switch late := e.Time.Sub(began); {
			case now[e.Message.ID()] == "at once":
				now[e.Message.ID()] = "twice"
			case late <= shortWay:
				now[e.Message.ID()] = "later"
			default:
				now[e.Message.ID()] = "much later"
			}
		}
		for _, fate := range now {
			fates[fate]++
		}
		for _, fate := range []string{"lost", "busy", "at once", "later", "much later", "twice"} {
			if fates[fate] < n/50 {
				t.Errorf("%s: %d of %d messages (%v)", fate, fates[fate], n, fates)
			}
		}
	})
}

// TestSeedsDisturb looks for each kind of disturbance in the steps of the default seeds.
func TestSeedsDisturb(t *testing.T) {
	review := hurried()
	got := map[string]int{}
	for _, seed := range newOptions(nil).seeds {
		systemtest.Bubble(t, func(t *testing.T) {
			w, err := newWorld(t.Context(), review, newOptions(nil), seed)
			if err != nil {
				t.Fatal(err)
			}
			w.play(t.Context())
			w.stop(context.WithoutCancel(t.Context()))
			for _, fault := range w.faults {
				t.Error(fault)
			}
			begun := map[performatives.ConversationID]time.Time{}
			for r := range w.events.C {
				e, ok := r.Event.(lifecycle.Transition)
				if !ok {
					continue
				}
				got[e.On.String()]++
				if e.On == machine.Commanded(machine.CommandStart) {
					begun[e.Conversation] = e.Time
				}
				if e.On == machine.Timeout(machine.TimerDeadline) && e.Time.Sub(begun[e.Conversation]) < codons.DefaultDeadline {
					got["deadline of the caller"]++
				}
				if e.Conversation == "named 1" {
					got["named"]++
				}
			}
		})
	}
	for _, want := range []string{
		"command cancel", "command stop", "command hurry", "timeout deadline", "timeout retry", "duplicate REQUEST", "undeliverable REQUEST",
		"receive CANCEL", "named", "deadline of the caller", "command misread",
	} {
		if got[want] == 0 {
			t.Errorf("no seed has %s: %v", want, got)
		}
	}
}

// TestGarble garbles answers of a codon with message types and of one without. The opening, a
// CANCEL and a refusal arrive as they are.
func TestGarble(t *testing.T) {
	review, ask := reviewOf(nil), query.IfCodon
	net := &network{codons: map[string]*codons.Codon{review.Name(): review, ask.Name(): ask}}
	n := 0
	of := func(c *codons.Codon, act performatives.Performative, payload any, messageType string) *performatives.Message {
		n++
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID("m" + strconv.Itoa(n)), Timestamp: time.Unix(1, 0), Performative: act, Sender: responderID, Receiver: askerID,
			ConversationID: "c", Protocol: c.Name(), MessageType: messageType, Payload: payload, InReplyTo: "q",
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	typed := of(review, performatives.ActInform, comments{}, "APPROVED")
	if g := net.garble(typed); g.MessageType() != garbled || g.ID() != typed.ID() || !net.unreadable[typed.ID()] {
		t.Errorf("got %s %s", g.Performative(), g.MessageType())
	}
	act := of(ask, performatives.ActInformIf, performatives.InformIf{Truth: new(bool)}, "")
	if g := net.garble(act); g.Performative() != performatives.ActDisconfirm || g.InReplyTo() != "q" || !net.unreadable[act.ID()] {
		t.Errorf("got %s", g.Performative())
	}
	for _, m := range []*performatives.Message{
		of(review, performatives.ActRequest, change{}, "REVIEW_REQUEST"), of(review, performatives.ActCancel, performatives.Cancel{}, ""),
		of(ask, performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: "no"}, ""),
	} {
		if net.garble(m) != m || net.unreadable[m.ID()] {
			t.Errorf("%s is garbled", m.Performative())
		}
	}
}

// TestDice draws equal choices for equal keys and seeds, and others otherwise.
func TestDice(t *testing.T) {
	draw := func(seed uint64, key ...string) int { return dice{seed}.of(key...).IntN(1 << 30) }
	first := draw(1, "a", "b")
	if draw(1, "a", "b") != first || draw(2, "a", "b") == first || draw(1, "ab") == first || draw(1, "b", "a") == first {
		t.Error("the choices do not depend on the seed and the key alone")
	}
}

package actors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// TestLossComesBehindDeliveredMessages loses the peer while the agent is busy. Conversations that
// the messages before the loss open are told behind the last of them. Those that messages after it
// open, which overtake, are not told.
func TestLossComesBehindDeliveredMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, opened, next, nextLow := &recording{}, &recording{}, &recording{}, &recording{}
		s, self := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"open": open, "opened": opened, "next": next, "next-low": nextLow})
		deliverAll(t, s, recordedMessage(t, "open", "o1", performatives.Normal))
		synctest.Wait()
		held := make(chan struct{})
		_ = self.Later(func(Agent) { <-held })
		deliverAll(t, s, recordedMessage(t, "open", "o2", performatives.Low), recordedMessage(t, "opened", "p1", performatives.Low), recordedMessage(t, "open", "o3", performatives.High))
		s.LosePeers(performatives.CodeDisconnected, "X")
		deliverAll(t, s, recordedMessage(t, "next", "n1", performatives.Urgent), recordedMessage(t, "next-low", "n2", performatives.Low))
		close(held)
		synctest.Wait()
		checkCalls(t, open, "start o1 o3 o2 lost")
		checkCalls(t, opened, "start p1 lost")
		checkCalls(t, next, "start n1")
		checkCalls(t, nextLow, "start n2")
		s.LosePeers(performatives.CodeDisconnected, "y")
		synctest.Wait()
		checkCalls(t, next, "start n1")
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestLossSpares opens conversations with the next destination of a peer while its loss is under
// way. Those of the peer are told, and those that the agent has opened before.
func TestLossSpares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, since, asked := &recording{key: Key{ID: "before", Peer: "X", Initiator: true}}, &recording{key: Key{ID: "since", Peer: "x", Initiator: true}}, &recording{}
		s, self := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"asked": asked})
		begin := func(c *recording) {
			if err := self.Begin(c); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		begin(before)
		loss := s.BeginLoss()
		begin(since)
		deliverAll(t, s, recordedMessage(t, "asked", "a1", performatives.Normal))
		synctest.Wait()
		loss.Lose(performatives.Failure{ErrorCode: performatives.CodeDisconnected}, "x")
		synctest.Wait()
		checkCalls(t, before, "start lost")
		checkCalls(t, since, "start")
		checkCalls(t, asked, "start a1 lost")
		s.LosePeers(performatives.CodeDisconnected, "x")
		synctest.Wait()
		checkCalls(t, since, "start lost")
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestLossComesBehindMessagesOfTheConversation loses the peer while the conversation is busy.
func TestLossComesBehindMessagesOfTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		c := &recording{receive: func(m any) {
			if p, ok := m.(*performatives.Message); ok && p.ID() == "first" {
				<-held
			}
		}}
		s, _ := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
		deliverAll(t, s, recordedMessage(t, "c", "first", performatives.Normal))
		synctest.Wait()
		deliverAll(t, s, recordedMessage(t, "c", "low", performatives.Low), recordedMessage(t, "c", "high", performatives.High))
		synctest.Wait()
		s.LosePeers(performatives.CodeDisconnected, "x")
		synctest.Wait()
		close(held)
		synctest.Wait()
		checkCalls(t, c, "start first high low lost")
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestLossOfAQueuedRequest loses the peer of an agent that has no conversation yet, and a request
// in its mailbox.
func TestLossOfAQueuedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &recording{}
		s, self := recordingSystem(t, Options{}, map[performatives.ConversationID]*recording{"c": c})
		held := make(chan struct{})
		_ = self.Later(func(Agent) { <-held })
		deliverAll(t, s, recordedMessage(t, "c", "first", performatives.Low))
		s.LosePeers(performatives.CodeDisconnected, "x")
		close(held)
		synctest.Wait()
		checkCalls(t, c, "start first lost")
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestLossForgetsHandshakes loses a peer that has completed a handshake.
func TestLossForgetsHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, self := recordingSystem(t, Options{}, nil)
		self.Know("x")
		self.Know("y")
		s.LosePeers(performatives.CodeDisconnected, "X")
		if self.Knows("x") || !self.Knows("y") {
			t.Errorf("knows x %v, and y %v", self.Knows("x"), self.Knows("y"))
		}
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// TestLossOfARequest loses the peer of requests of Self.Ask. A reply that was delivered before
// counts, what was asked since the loss has begun is with the next destination, and a request for
// which the ask does not account has another end.
func TestLossOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := routedSystem(t, Options{}, silent{})
		a, _ := s.Lookup("a")
		entry, _ := s.Find("a")
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		got := make(map[string]string)
		ask := func(id string, to performatives.AgentID) *performatives.Message {
			m, err := recordedMessage(t, id, id, performatives.Normal).With(func(e *performatives.Envelope) {
				e.Sender, e.Receiver = "a", to
				if id != "endless" {
					e.ReplyBy = time.Now().Add(time.Hour)
				}
				if id == "notice" {
					e.Performative = performatives.ActInform
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				answer, err := a.Ask(ctx, m)
				if err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				got[id] = answer.Performative().String()
				if r := answer.AsRefusal(); r != nil {
					got[id] = r.Text
				}
			}()
			synctest.Wait()
			if accounts := id != "recorded" && entry.AccountFor(m); accounts == slices.Contains([]string{"recorded", "endless", "notice"}, id) || s.AccountsFor(m) != accounts {
				t.Errorf("%s: the ask accounts for its request: %t", id, accounts)
			}
			return m
		}
		check := func(want map[string]string) {
			t.Helper()
			synctest.Wait()
			if !maps.Equal(got, want) {
				t.Errorf("answered: %v, want %v", got, want)
			}
		}
		answered := ask("answered", "x")
		ask("before", "X")
		ask("recorded", "x") // by a layer above
		ask("endless", "x")  // which nothing would end if its loss were missed
		ask("notice", "x")   // to which a loss can give no reply
		ask("other", "y")
		loss := s.BeginLoss()
		ask("since", "x")
		held := make(chan struct{})
		_ = a.Later(func(Agent) { <-held })
		reply, err := answered.ReplyFrom("x", s.Stamp(), performatives.ActInform, performatives.Raw(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		deliverAll(t, s, reply)
		loss.Lose(performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the node n2 cannot be reached"}, "x")
		close(held)
		want := map[string]string{"answered": "INFORM", "before": "the node n2 cannot be reached"}
		check(want)
		s.LosePeers(performatives.CodeDisconnected, "x")
		want["since"] = performatives.CodeDisconnected.Traits().Text
		check(want)
		s.LosePeers(performatives.CodeDisconnected, "Y")
		want["other"] = want["since"]
		check(want)
		cancel()
		synctest.Wait()
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

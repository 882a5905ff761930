package actors

import (
	"errors"
	"testing"
	"testing/synctest"

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

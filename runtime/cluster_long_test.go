package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// longText is as long as the longest message of a link, so that no message with it can be sent.
var longText = strings.Repeat("x", nodelink.MaxMessage)

// novelist is a colleague whose results are too long for a link.
type novelist struct{ colleague }

func (novelist) Describe() p.Capabilities {
	return p.Capabilities{Actions: []p.Action{{Name: "write"}}}
}

func (novelist) PerformTask(context.Context, delegation.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]any{"text": longText})}, nil
}

// A message that is too long for a link is refused to its sender at once, and harms neither the
// link nor other messages.
func TestMessageTooLongForALink(t *testing.T) {
	racetest.Skip(t)
	nodes := newCluster(t, 2)
	spawn(t, nodes[1], "worker", func() actors.Agent { return colleague{} })
	spawn(t, nodes[1], "novelist", func() actors.Agent { return novelist{} })
	heard := make(chan p.AgentID, 8)
	spawn(t, nodes[0], "listener", func() actors.Agent { return noticeRecorder{heard} })
	for _, id := range []p.AgentID{"worker", "novelist"} {
		knowsTopic(t, nodes[0], id)
	}
	lost := nodes[0].Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{runtime.KindMemberLost}})
	defer lost.Close()
	delegate := func(to p.AgentID) error {
		// A copy that is sent again would end the conversation, too.
		_, err := nodes[0].Delegate(patience.Context(t), to, p.TaskRequest{TaskType: "review"}, codons.WithRetry(codons.Retry{First: time.Hour}))
		return err
	}
	tooLong := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, p.CodeInvalidPayload) || !strings.Contains(err.Error(), "and a link takes 16777216") {
			t.Errorf("%s: %v", what, err)
		}
	}

	_, err := nodes[0].Ask(patience.Context(t), "worker", p.Raw(`{"text":"`+longText+`"}`), runtime.WithAct(p.ActRequest))
	tooLong("a request", err)
	tooLong("a broadcast", notify.Broadcast(nodes[0], map[string]any{"text": longText}))
	if err := delegate("novelist"); !errors.Is(err, p.CodeFailed) || !strings.Contains(err.Error(), "and a link takes 16777216") {
		t.Errorf("a result: %v", err)
	}

	if err := delegate("worker"); err != nil {
		t.Error(err)
	}
	if err := notify.Broadcast(nodes[1], map[string]any{"text": "short"}); err != nil {
		t.Error(err)
	}
	if by := <-heard; by != "listener" || len(heard) > 0 {
		t.Errorf("%s and %d others heard a broadcast", by, len(heard))
	}
	for nodes[1].Counts().Open > 0 { // the side of the worker ends after its result was sent
		if err := nodes[1].Self().Do(patience.Context(t), func(actors.Agent) {}); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := lost.Next(ended); err == nil {
		t.Errorf("got %+v", e)
	}
}

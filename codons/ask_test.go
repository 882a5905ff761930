package codons_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// change and comments are the contents of the reviews of these tests.
type (
	change struct {
		Diff   string
		Labels map[string]string `json:",omitempty"`
	}
	comments struct{ Text string }
)

// review is a codon as an application defines it.
var review = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name: "code-review", Title: "Code review", Purpose: "A change is reviewed until it is approved.", Source: "the tests",
		Terminal: []machine.State{"approved"},
		Jobs: []machine.Job{
			{Role: machine.Responder, Name: "review", Ends: []string{"approve", "comment"}, Doc: "the change is read"},
			{Role: machine.Initiator, Name: "revise", Ends: []string{"resubmit"}, Doc: "the change is revised"},
		},
		Rows: []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).Goto("waiting", machine.Send(p.ActRequest)).Because("a change"),
			machine.Asks("waiting").When(machine.ReceiveTagged(p.ActInform, "APPROVED")).Goto("approved").Because("no objections"),
			machine.Asks("waiting").When(machine.ReceiveTagged(p.ActInform, "CHANGES_REQUESTED")).Goto("revising", machine.Run("revise")).Because("comments"),
			machine.Asks("revising").When(machine.Commanded("resubmit")).Goto("waiting", machine.Send(p.ActRequest)).Because("it is revised"),
			machine.Answers(machine.Idle, "commented").When(machine.Receive(p.ActRequest)).Goto("reviewing", machine.Run("review")).Because("a change"),
			machine.Answers("reviewing").When(machine.Commanded("approve")).Goto("approved", machine.SendTagged(p.ActInform, "APPROVED")).Because("no objections"),
			machine.Answers("reviewing").When(machine.Commanded("comment")).Goto("commented", machine.SendTagged(p.ActInform, "CHANGES_REQUESTED")).Because("objections"),
		},
	},
	Messages: codons.Messages{
		"REVIEW_REQUEST":    codons.Says[change](p.ActRequest),
		"CHANGES_REQUESTED": codons.Says[comments](p.ActInform),
		"APPROVED":          codons.Says[comments](p.ActInform),
	},
})

// reviewing is what an agent implements to answer reviews.
type reviewing interface {
	actors.Agent
	Review(ctx context.Context, t codons.Turn[change]) (codons.Command, error)
}

// critic is an agent whose review is a function.
type critic func(ctx context.Context, t codons.Turn[change]) (codons.Command, error)

func (critic) Describe() p.Capabilities { return p.Capabilities{} }

func (r critic) Review(ctx context.Context, t codons.Turn[change]) (codons.Command, error) {
	return r(ctx, t)
}

// wantsTests approves a change with tests.
func wantsTests(_ context.Context, t codons.Turn[change]) (codons.Command, error) {
	if !strings.Contains(t.Content.Diff, "test") {
		return codons.Command{Name: "comment", Data: comments{"tests?"}}, nil
	}
	return codons.Command{Name: "approve", Data: comments{"good"}}, nil
}

// addTests revises a change.
func addTests(_ context.Context, t codons.Turn[comments]) (codons.Command, error) {
	return codons.Command{Name: "resubmit", Data: change{Diff: "test"}}, nil
}

// inReviews runs a test in a system with a critic "Rev" and an asker, in virtual time.
func inReviews(t *testing.T, r critic, test func(t *testing.T, s *actors.System, asker actors.Self)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{review.Answer(codons.Method("review", reviewing.Review))}})
		if err != nil {
			t.Fatal(err)
		}
		spawn := func(id p.AgentID, agent actors.Agent) actors.Self {
			self, err := s.Spawn(t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return agent }})
			if err != nil {
				t.Fatal(err)
			}
			return self
		}
		spawn("Rev", r)
		asker := spawn("Asker", critic(wantsTests))
		test(t, s, asker)
		synctest.Wait()
		if n := s.Counts(); n.Open != 0 || n.Working != 0 {
			t.Errorf("%d conversations and %d handlers under way", n.Open, n.Working)
		}
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // the engine has a goroutine that waits for a timer
	})
}

// TestAskARevisedChange takes a review through a second round. The messages carry their
// types.
func TestAskARevisedChange(t *testing.T) {
	inReviews(t, wantsTests, func(t *testing.T, s *actors.System, asker actors.Self) {
		sent := s.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindMessageSent}})
		defer sent.Close()
		end, err := review.Ask(t.Context(), asker, "Rev", change{Diff: "code"}, codons.On("revise", addTests))
		if err != nil || end.State != "approved" {
			t.Fatalf("got %+v, %v", end, err)
		}
		if c, err := p.PayloadAs[comments](end.Message); err != nil || c.Text != "good" {
			t.Errorf("got %+v, %v", c, err)
		}
		for _, want := range []string{"REVIEW_REQUEST", "CHANGES_REQUESTED", "REVIEW_REQUEST", "APPROVED"} {
			m, err := events.Next[events.MessageSent](t.Context(), sent)
			if err != nil || m.Message.MessageType() != want || m.Message.Protocol() != "code-review" {
				t.Errorf("sent %q of %q, %v, want %s", m.Message.MessageType(), m.Message.Protocol(), err, want)
			}
		}
	})
}

// TestAskEnds checks what the caller gets where there is no review.
func TestAskEnds(t *testing.T) {
	for name, c := range map[string]struct {
		to     p.AgentID
		review critic
		state  machine.State
		code   p.Code
	}{
		"an unknown agent": {"Nobody", wantsTests, "refused", p.CodeUnknownAgent},
		"a refusal": {"Rev", func(context.Context, codons.Turn[change]) (codons.Command, error) {
			return codons.Command{}, &p.Refusal{Code: p.CodeUnauthorized, Text: "not yours"}
		}, "refused", p.CodeUnauthorized},
		"an error": {"Rev", func(context.Context, codons.Turn[change]) (codons.Command, error) {
			return codons.Command{}, errors.New("oh")
		}, "failed", p.CodeFailed},
		"a panic": {"Rev", func(context.Context, codons.Turn[change]) (codons.Command, error) { panic("oh") }, "failed", p.CodeInternal},
		"an unknown command": {"Rev", func(context.Context, codons.Turn[change]) (codons.Command, error) {
			return codons.Command{Name: "shrug"}, nil
		}, "failed", p.CodeInternal},
		"a wrong content": {"Rev", func(context.Context, codons.Turn[change]) (codons.Command, error) {
			return codons.Command{Name: "approve", Data: change{}}, nil
		}, "failed", p.CodeInternal},
		// Both sides keep the deadline, and either may be first.
		"a missed deadline": {"Rev", func(ctx context.Context, _ codons.Turn[change]) (codons.Command, error) {
			<-ctx.Done()
			return codons.Command{}, ctx.Err()
		}, "", p.CodeTimeout},
		"a caller that left": {"Rev", func(ctx context.Context, _ codons.Turn[change]) (codons.Command, error) {
			<-ctx.Done()
			return codons.Command{}, ctx.Err()
		}, "cancelled", p.CodeCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			inReviews(t, c.review, func(t *testing.T, _ *actors.System, asker actors.Self) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if c.state == "cancelled" {
					defer time.AfterFunc(time.Second, cancel).Stop()
				}
				end, err := review.Ask(ctx, asker, c.to, change{Diff: "code"}, codons.On("revise", addTests))
				var e *codons.EndError
				if !errors.As(err, &e) || c.state != "" && e.State != c.state || !errors.Is(err, c.code) {
					t.Errorf("got %+v, %v; want %s, %s", end, err, c.state, c.code)
				}
			})
		})
	}
}

// TestAskMistakes are told before anything is sent.
func TestAskMistakes(t *testing.T) {
	inReviews(t, wantsTests, func(t *testing.T, s *actors.System, asker actors.Self) {
		for want, opts := range map[string][]codons.Option{
			`the initiator's job "revise" has no code`:                   nil,
			`the initiator has no job "rewrite": want one of ["revise"]`: {codons.On("revise", addTests), codons.On("rewrite", addTests)},
			`the function of codons.On("revise") is nil`:                 {codons.On[comments]("revise", nil)},
			`the job "revise" reads a Turn[codons_test.change], but CHANGES_REQUESTED with codons_test.comments starts it`: {
				codons.On("revise", func(context.Context, codons.Turn[change]) (codons.Command, error) { return codons.Command{}, nil }),
			},
			`the table reports nothing under "progress"`: {codons.On("revise", addTests), codons.OnReport("progress", func(comments) {})},
		} {
			if _, err := review.Ask(t.Context(), asker, "Rev", change{}, opts...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		for _, content := range []any{nil, comments{}, map[string]any{"Diff": ""}, make(chan int)} {
			_, err := review.Ask(t.Context(), asker, "Rev", content, codons.On("revise", addTests))
			if want := "want codons_test.change (REVIEW_REQUEST) as the content of the opening message"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		if n := s.Counts().DeadLetters; n != 0 {
			t.Errorf("%d dead letters", n)
		}
	})
}

// TestFailedRevision withdraws the review.
func TestFailedRevision(t *testing.T) {
	oh := errors.New("oh")
	for name, revise := range map[string]func(context.Context, codons.Turn[comments]) (codons.Command, error){
		"an error": func(context.Context, codons.Turn[comments]) (codons.Command, error) { return codons.Command{}, oh },
		"a panic":  func(context.Context, codons.Turn[comments]) (codons.Command, error) { panic(oh) },
		"an unknown command": func(context.Context, codons.Turn[comments]) (codons.Command, error) {
			return codons.Command{Name: "shrug"}, nil
		},
		"a wrong content": func(context.Context, codons.Turn[comments]) (codons.Command, error) {
			return codons.Command{Name: "resubmit", Data: comments{}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inReviews(t, wantsTests, func(t *testing.T, _ *actors.System, asker actors.Self) {
				_, err := review.Ask(t.Context(), asker, "Rev", change{Diff: "code"}, codons.On("revise", revise))
				if !errors.Is(err, p.CodeCanceled) || name == "an error" && (!errors.Is(err, oh) || !strings.HasSuffix(err.Error(), ": oh")) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestMessageTypeOfAPeer resolves a type that is absent where one is expected, and does
// not understand an unknown one, nor a content that is none.
func TestMessageTypeOfAPeer(t *testing.T) {
	for _, c := range []struct {
		kind string
		body any
		want p.Performative
	}{
		{"REVIEW_REQUEST", p.Raw(`{"Diff":"test"}`), p.ActInform},
		{"", p.Raw(`{"Diff":"test"}`), p.ActInform},
		{"REVIEW_PLEASE", p.Raw(`{"Diff":"test"}`), p.ActNotUnderstood},
		{"REVIEW_REQUEST", p.Raw(`{"Diff":7}`), p.ActNotUnderstood},
	} {
		inReviews(t, wantsTests, func(t *testing.T, _ *actors.System, asker actors.Self) {
			stamp := asker.Stamp()
			m, err := p.New(p.Envelope{
				ID: stamp.ID, Timestamp: stamp.Time, Performative: p.ActRequest, Sender: "Asker", Receiver: "Rev",
				Protocol: "code-review", MessageType: c.kind, ReplyWith: string(stamp.ID), Payload: c.body,
			})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := asker.Ask(t.Context(), m)
			if err != nil || answer.Performative() != c.want {
				t.Fatalf("%s %s: %v, %v", c.kind, c.body, answer, err)
			}
			if r := answer.AsRefusal(); c.kind == "REVIEW_PLEASE" && !strings.Contains(r.Text, "message_type") {
				t.Errorf("refused with %q", r.Text)
			}
		})
	}
}

// scripted is an agent that hands its messages to the test.
type scripted chan *p.Message

func (scripted) Describe() p.Capabilities { return p.Capabilities{} }

func (s scripted) Receive(_ *actors.Context, m *p.Message) { s <- m }

// TestMisreadType has a reviewer answer with a message type that the codon does not know. The asker
// says so, and ends at once.
func TestMisreadType(t *testing.T) {
	inReviews(t, wantsTests, func(t *testing.T, s *actors.System, asker actors.Self) {
		got := make(scripted, 8)
		liar, err := s.Spawn(t.Context(), actors.Spec{ID: "Liar", New: func() actors.Agent { return got }})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		asked, err := review.Start(t.Context(), asker, "Liar", change{Diff: "x"}, codons.On("revise", addTests))
		if err != nil {
			t.Fatal(err)
		}
		e := (<-got).ReplyEnvelope("Liar", liar.Stamp(), p.ActInform, comments{"?"})
		e.MessageType = "PERHAPS"
		answer, err := p.New(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := liar.Send(answer); err != nil {
			t.Fatal(err)
		}
		said := <-got
		if r := said.AsRefusal(); said.Performative() != p.ActNotUnderstood || !said.Answers(answer) || r.Code != p.CodeInvalidPayload || !strings.Contains(r.Text, "message_type") {
			t.Errorf("the asker said %s %+v", said.Performative(), r)
		}
		_, err = asked.Wait()
		var end *codons.EndError
		if !errors.As(err, &end) || end.State != standard.StateMisread || end.Refusal.Code != p.CodeInvalidPayload || !time.Now().Equal(began) {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// TestConversationsUnderWay lists both sides of a review, and none after it.
func TestConversationsUnderWay(t *testing.T) {
	slow := func(ctx context.Context, turn codons.Turn[change]) (codons.Command, error) {
		_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 2})
		time.Sleep(time.Minute)
		return codons.Command{Name: "approve", Data: comments{"at last"}}, nil
	}
	inReviews(t, slow, func(t *testing.T, s *actors.System, asker actors.Self) {
		asked, err := review.Start(t.Context(), asker, "Rev", change{Diff: "x"}, codons.On("revise", addTests), codons.WithBudget(codons.Budget{codons.Tokens: 7, codons.Depth: 3}))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(time.Second)
		all := codons.Conversations(s)
		if len(all) != 2 {
			t.Fatalf("got %+v", all)
		}
		if all[0].Path != nil || all[1].Path != nil {
			t.Errorf("nobody wants to know the paths %q and %q", all[0].Path, all[1].Path)
		}
		for i, want := range []codons.Info{
			{Role: machine.Initiator, Agent: "Asker", Peer: "Rev", State: "waiting"}, {Role: machine.Responder, Agent: "Rev", Peer: "Asker", State: "reviewing"},
		} {
			got := all[i]
			want.ID, want.Protocol, want.Began, want.Since, want.Deadline = asked.Conversation(), "code-review", began, began, began.Add(codons.DefaultDeadline)
			want.Budget = got.Budget
			if got.Budget[codons.Tokens] != 7 || got.ID != want.ID || got.Role != want.Role || got.State != want.State || !got.Since.Equal(began) || !got.Deadline.Equal(want.Deadline) || got.Peer != want.Peer {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		if ours, theirs := all[0].Left, all[1].Left.String(); ours != nil || theirs != "depth 3, tokens 5" {
			t.Errorf("left are %q on the initiator's side and %q on the other", ours, theirs)
		}
		if _, err := asked.Wait(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if all := codons.Conversations(s); len(all) != 0 {
			t.Errorf("after the end: %+v", all)
		}
	})
}

// TestConversationsAfterTheirEnd has an agent that is too busy to take note of the end of its
// conversation.
func TestConversationsAfterTheirEnd(t *testing.T) {
	untilDone := func(ctx context.Context, _ codons.Turn[change]) (codons.Command, error) {
		<-ctx.Done()
		return codons.Command{}, ctx.Err()
	}
	inReviews(t, untilDone, func(t *testing.T, s *actors.System, asker actors.Self) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		asked, err := review.Start(ctx, asker, "Rev", change{Diff: "x"}, codons.On("revise", addTests))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		busy := make(chan struct{})
		if err := asker.Later(func(actors.Agent) { <-busy }); err != nil {
			t.Fatal(err)
		}
		<-asked.Done()
		synctest.Wait()
		if all := codons.Conversations(s); len(all) != 0 {
			t.Errorf("after the end: %+v", all)
		}
		close(busy)
	})
}

// pointed is a critic by its pointer only.
type pointed struct{}

func (pointed) Describe() p.Capabilities { return p.Capabilities{} }

func (*pointed) Review(context.Context, codons.Turn[change]) (codons.Command, error) {
	return codons.Command{}, nil
}

// TestSpawnByValue refuses an agent whose role has pointer receivers, and names both.
func TestSpawnByValue(t *testing.T) {
	inReviews(t, wantsTests, func(t *testing.T, s *actors.System, _ actors.Self) {
		started := s.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentStarted}})
		defer started.Close()
		_, err := s.Spawn(t.Context(), actors.Spec{ID: "P", New: func() actors.Agent { return pointed{} }})
		if err == nil || !strings.Contains(err.Error(), "codons_test.reviewing") || !strings.Contains(err.Error(), "*codons_test.pointed") {
			t.Errorf("got %v", err)
		}
		if _, err := s.Spawn(t.Context(), actors.Spec{ID: "P", New: func() actors.Agent { return &pointed{} }}); err != nil {
			t.Error(err)
		}
		e, err := events.Next[events.AgentStarted](t.Context(), started)
		if err != nil || len(e.Roles) != 1 || e.Roles[0] != "code-review" {
			t.Errorf("got %+v, %v", e, err)
		}
	})
}

// TestChangedPayload is published at the end of the conversation.
func TestChangedPayload(t *testing.T) {
	before := codons.CheckPayloads.Swap(true)
	defer codons.CheckPayloads.Store(before)
	for _, changes := range []bool{false, true} {
		labels := map[string]string{"size": "small"}
		change := func(_ context.Context, t codons.Turn[change]) (codons.Command, error) {
			if changes {
				t.Content.Labels["size"] = "large"
			}
			return codons.Command{Name: "approve", Data: comments{"good"}}, nil
		}
		inReviews(t, change, func(t *testing.T, s *actors.System, asker actors.Self) {
			changed := s.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindPayload}})
			defer changed.Close()
			if _, err := review.Ask(t.Context(), asker, "Rev", newChange("test", labels), codons.On("revise", addTests)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := len(changed.C) > 0; got != changes {
				t.Errorf("a change is published: %t, want %t", got, changes)
			}
		})
	}
}

func newChange(diff string, labels map[string]string) change { return change{diff, labels} }

// TestDeadlineOfAJob checks that a job of the initiator has the deadline of the conversation.
func TestDeadlineOfAJob(t *testing.T) {
	inReviews(t, wantsTests, func(t *testing.T, _ *actors.System, asker actors.Self) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		want, _ := ctx.Deadline()
		_, err := review.Ask(ctx, asker, "Rev", change{Diff: "code"}, codons.On("revise", func(ctx context.Context, turn codons.Turn[comments]) (codons.Command, error) {
			if by, ok := ctx.Deadline(); !ok || !by.Equal(want) {
				t.Errorf("the job has until %v, want %v", by, want)
			}
			return addTests(ctx, turn)
		}))
		if err != nil {
			t.Error(err)
		}
	})
}

// TestExploreStandardWithAJobOfTheInitiator explores a table whose initiator has a job, which
// CANCEL, the deadline and FAILURE stop.
func TestExploreStandardWithAJobOfTheInitiator(t *testing.T) {
	for _, n := range []verify.Network{{}, verify.Calm()} {
		if result, err := verify.Explore(review.Machine(), n); err != nil {
			t.Errorf("%s: %v", result, err)
		}
	}
}

package kit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// failures is a test whose failures a test expects.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Helper() {}

func (f *failures) Error(args ...any) { f.texts = append(f.texts, fmt.Sprint(args...)) }

func (f *failures) Errorf(format string, args ...any) { f.Error(fmt.Sprintf(format, args...)) }

// oracle answers that everything is true.
type oracle struct{ Plain }

func (oracle) HandleQueryIf(context.Context, query.AskedIf) (bool, error) { return true, nil }

// TestEndReports has tests leave something behind, and expects the report.
func TestEndReports(t *testing.T) {
	for name, c := range map[string]struct {
		test  func(t *testing.T, w *World)
		wants string // a part of the report; empty for none
	}{
		"a conversation without JSON": {func(t *testing.T, w *World) {
			if _, err := query.If(t.Context(), w.Eddy, "Oracle", make(chan int)); err != nil {
				t.Error(err)
			}
		}, "unsupported type: chan int"},
		"a message that breaks its protocol": {func(t *testing.T, w *World) {
			jules := systemtest.NewPeer(t) // World.Peer would allow it
			jules.Self = w.Add("Jules", jules)
			d := w.Start(t.Context())
			request := jules.Expect(p.ActTaskRequest)
			jules.Send(request.ReplyEnvelope("Jules", jules.Stamp(), 0, p.StatusUpdate{Description: "not accepted yet"}))
			d.Cancel()
			jules.Send(jules.Expect(p.ActCancel).ReplyEnvelope("Jules", jules.Stamp(), 0, p.Failure{ErrorCode: p.CodeFailed, ErrorText: "stopped"}))
			_, _ = d.Wait() // it failed
		}, "STATUS_UPDATE is not legal here"},
		"a conversation without JSON on purpose": {func(t *testing.T, w *World) {
			w.NoJSON.Store(true)
			if _, err := query.If(t.Context(), w.Eddy, "Oracle", make(chan int)); err != nil {
				t.Error(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &failures{TB: t}
			systemtest.Bubble(t, func(t *testing.T) {
				w := NewWorld(f, codons.Times{}, actors.Options{})
				w.Add("Oracle", oracle{})
				c.test(t, w)
				w.End()
			})
			if got := strings.Join(f.texts, "\n"); c.wants == "" && got != "" || !strings.Contains(got, c.wants) {
				t.Errorf("reported %q, want %q", got, c.wants)
			}
		})
	}
}

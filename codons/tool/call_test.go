package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestCall(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Till", newTill(t, func(ctx context.Context, b basket) (price, error) {
			call, ok := tool.CallerFrom(ctx)
			if !ok || call.Message.Sender() != "Eddy" || call.Agent.ID() != "Till" {
				t.Errorf("called by %+v, %t", call, ok)
			}
			return total(ctx, b)
		}))
		want := price{5}
		for _, in := range []any{
			basket{Items: []item{{"tea", 2}, {"cake", 3}}},
			map[string]any{"items": []any{map[string]any{"name": "tea", "cost": 5}}},
			p.Raw(`{"items": [{"name": "tea", "cost": 5}], "tip": 3}`),
			json.RawMessage(`{"items": [{"name": "tea", "cost": 5}], "tip": null}`),
		} {
			got, err := tool.Call[any, price](t.Context(), w.Eddy, "Till", "Total_Price", in)
			if err != nil || got != want {
				t.Errorf("%s: got %+v, %v", in, got, err)
			}
		}
		raw, err := tool.Call[any, json.RawMessage](t.Context(), w.Eddy, "Till", "total price", basket{Items: []item{{"tea", 5}}})
		if err != nil || string(raw) != `{"total":5}` {
			t.Errorf("got %s, %v", raw, err)
		}
		kit.Golden(t, "tool call", w.Lines()[:2])
		w.Settled(0)
	})
}

func TestCallIsTurnedDown(t *testing.T) {
	forbid := func(err error) tool.Option {
		return tool.Guard(func(m *p.Message) error {
			if m.Sender() == "Eddy" {
				return err
			}
			return nil
		})
	}
	for name, c := range map[string]struct {
		tool   string
		fn     func(context.Context, basket) (price, error)
		opts   []tool.Option
		state  string
		code   p.Code
		worker string // the end of a delegated task
	}{
		"unknown tool":                 {tool: "subtotal", fn: total, state: "rejected", code: p.CodeIncapable, worker: "rejected"},
		"unauthorized":                 {fn: total, opts: []tool.Option{forbid(&p.Refusal{Code: p.CodeUnauthorized})}, state: "rejected", code: p.CodeUnauthorized, worker: "rejected"},
		"forbidden":                    {fn: total, opts: []tool.Option{forbid(errors.New("secret"))}, state: "rejected", code: p.CodeForbidden, worker: "rejected"},
		"guard fails":                  {fn: total, opts: []tool.Option{forbid(&p.Refusal{Code: p.CodeInternal})}, state: "failed", code: p.CodeInternal, worker: "failed"},
		"refusal":                      {fn: func(context.Context, basket) (price, error) { return price{}, &p.Refusal{Code: p.CodeRateLimited} }, state: "rejected", code: p.CodeRateLimited, worker: "failed"},
		"error":                        {fn: func(context.Context, basket) (price, error) { return price{}, errors.New("secret") }, state: "failed", code: p.CodeFailed, worker: "failed"},
		"panic":                        {fn: func(context.Context, basket) (price, error) { panic("secret") }, state: "failed", code: p.CodeInternal, worker: "failed"},
		"result that JSON cannot hold": {fn: func(context.Context, basket) (price, error) { return price{math.Inf(1)}, nil }, state: "failed", code: p.CodeInternal, worker: "failed"},
		"result out of bounds":         {fn: total, opts: []tool.Option{tool.Output(atMost("total", 1))}, state: "failed", code: p.CodeInternal, worker: "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				if c.tool == "" {
					c.tool = "total price"
				}
				w.Add("Till", newTill(t, c.fn, c.opts...))
				in := basket{Items: []item{{"tea", 2}}}
				_, err := tool.Call[basket, price](t.Context(), w.Eddy, "Till", c.tool, in)
				kit.WantEnd(t, err, machine.State(c.state), c.code)
				kit.NoSecret(t, err)
				_, err = delegation.Delegate(t.Context(), w.Eddy, "Till", p.TaskRequest{TaskType: c.tool, Parameters: p.ContentOf(in)})
				kit.WantEnd(t, err, machine.State(c.worker), c.code)
				kit.NoSecret(t, err)
				w.Settled(0)
			})
		})
	}
}

// TestPeersWithoutTools has peers answer that are not a [tool.Agent]: one outside of the runtime,
// which treats the call as a delegation, and a worker.
func TestPeersWithoutTools(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Shop")
		pending, err := tool.StartCall[basket, price](t.Context(), w.Eddy, "Shop", "total price", basket{})
		if err != nil {
			t.Fatal(err)
		}
		m := a.Expect(p.ActTaskRequest)
		a.Reply(m, p.TaskAccept{})
		a.Reply(m, p.StatusUpdate{Description: "half"})
		a.Reply(m, p.InformResult{Status: p.StatusFailure, Summary: "sold out"})
		_, err = pending.Wait()
		var failed *tool.Error
		if !errors.As(err, &failed) || failed.Result.Summary != "sold out" || failed.Tool != "total price" || failed.Error() != "tool: total price: failure: sold out" {
			t.Errorf("got %v", err)
		}
		w.Add("Jules", &kit.Worker{})
		_, err = tool.Call[basket, price](t.Context(), w.Eddy, "Jules", "total price", basket{})
		kit.WantEnd(t, err, "rejected", p.CodeIncapable)
		w.Settled(0)
	})
}

func TestCallIsCancelled(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		returned := false
		w.Add("Till", newTill(t, func(ctx context.Context, _ basket) (price, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			returned = true
			return price{}, context.Cause(ctx)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		pending, err := tool.StartCall[basket, price](ctx, w.Eddy, "Till", "total price", basket{Items: []item{{}}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		cancel()
		_, err = pending.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		kit.WantElapsed(t, start, time.Second)
		if !returned {
			t.Error("the receipt came before the tool had returned")
		}
		w.Settled(0)
	})
}

func TestCallSurvivesLostMessages(t *testing.T) {
	for _, act := range []p.Performative{p.ActTaskRequest, p.ActInformResult} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			calls := 0
			w.Add("Till", newTill(t, func(ctx context.Context, b basket) (price, error) {
				calls++
				return total(ctx, b)
			}))
			w.Net.Lose(act, 2)
			got, err := tool.Call[basket, price](t.Context(), w.Eddy, "Till", "total price", basket{Items: []item{{"tea", 2}}})
			if err != nil || got.Total != 2 || calls != 1 {
				t.Errorf("%s: got %+v, %v after %d calls", act, got, err, calls)
			}
			w.Settled(0)
		})
	}
}

func TestCallEndsWithoutAResult(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*kit.World)
		state string
		code  p.Code
	}{
		"deadline":         {func(*kit.World) { time.Sleep(time.Minute) }, "", p.CodeTimeout},
		"tool agent stops": {func(w *kit.World) { _ = w.StopAgent(w.T.Context(), "Till") }, "failed", p.CodeStopped},
		"caller stops":     {func(w *kit.World) { _ = w.StopAgent(w.T.Context(), "Eddy") }, "abandoned", p.CodeStopped},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Till", newTill(t, func(ctx context.Context, _ basket) (price, error) {
					<-ctx.Done()
					return price{}, context.Cause(ctx)
				}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				pending, err := tool.StartCall[basket, price](ctx, w.Eddy, "Till", "total price", basket{Items: []item{{}}})
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				c.end(w)
				_, err = pending.Wait()
				if !errors.Is(err, c.code) || c.state != "" && kit.EndOf(t, err).State != machine.State(c.state) {
					t.Errorf("got %v", err)
				}
				w.Settled(0)
			})
		})
	}
}

package codons_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// basket and price are arguments and a result of these tests.
type (
	basket struct {
		Items []item `json:"items"`
		Tip   *int8  `json:"tip,omitempty"`
	}
	item struct {
		Name string  `json:"name"`
		Cost float64 `json:"cost"`
	}
	price struct {
		Total float64 `json:"total"`
	}
)

func (b basket) Validate() error {
	if len(b.Items) == 0 {
		return errors.New("it is empty")
	}
	return nil
}

// till has one tool.
type till struct{ *codons.Tools }

func newTill(t *testing.T, fn func(context.Context, basket) (price, error), opts ...codons.ToolOption) *till {
	t.Helper()
	tool, err := codons.NewTool("total price", "adds up", fn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := codons.NewTools(tool)
	if err != nil {
		t.Fatal(err)
	}
	return &till{tools}
}

func total(_ context.Context, b basket) (out price, _ error) {
	for _, i := range b.Items {
		out.Total += i.Cost
	}
	return out, nil
}

func TestToolIsCalled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Till", newTill(t, func(ctx context.Context, b basket) (price, error) {
			call, ok := codons.ToolCallFrom(ctx)
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
			got, err := codons.CallTool[any, price](t.Context(), w.eddy, "Till", "Total_Price", in)
			if err != nil || got != want {
				t.Errorf("%s: got %+v, %v", in, got, err)
			}
		}
		raw, err := codons.CallTool[any, json.RawMessage](t.Context(), w.eddy, "Till", "total price", basket{Items: []item{{"tea", 5}}})
		if err != nil || string(raw) != `{"total":5}` {
			t.Errorf("got %s, %v", raw, err)
		}
		golden(t, "tool call", w.monitor.lines()[:2])
		w.settled(0)
	})
}

// TestToolArgumentsDoNotFit holds for a call and for a delegation alike.
func TestToolArgumentsDoNotFit(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, c := range map[string]struct {
		in    any
		field string
		why   string
	}{
		"missing":        {p.Raw(`{}`), "task_parameters", `missing properties: ["items"]`},
		"missing inside": {p.Raw(`{"items": [{"name": "tea", "cost": 1}, {"cost": 1}]}`), "task_parameters.items[1]", `missing properties: ["name"]`},
		"wrong type":     {p.Raw(`{"items": [{"name": 3, "cost": "z"}]}`), "task_parameters.items[0].cost", `want "number"`},
		"unknown":        {p.Raw(`{"items": [], "zip": 1, "hint": 2}`), "task_parameters.hint", "no such member"},
		"other case":     {p.Raw(`{"Items": []}`), "task_parameters.Items", "no such member"},
		"too large":      {p.Raw(`{"items": [{"name": "tea", "cost": 1}], "tip": 300}`), "task_parameters.tip", ""},
		"its own":        {p.Raw(`{"items": []}`), "task_parameters", "it is empty"},
		"not a number":   {basket{Items: []item{{"tea", math.NaN()}}}, "task_parameters", "not a JSON value"},
		"not JSON":       {json.RawMessage(`{"items": `), "task_parameters", "not a JSON value"},
		"not an object":  {json.RawMessage(`[1]`), "task_parameters", `want "object"`},
		"long":           {map[string]any{"items": long}, "task_parameters.items", "want"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Till", newTill(t, func(context.Context, basket) (price, error) {
					t.Error("the tool was called")
					return price{}, nil
				}))
				_, err := codons.CallTool[any, price](t.Context(), w.eddy, "Till", "total price", c.in)
				wantEnd(t, err, "not_understood", p.CodeInvalidPayload)
				text := endOf(t, err).Refusal.Text
				if !strings.HasPrefix(text, c.field+": ") || name != "long" && !strings.Contains(text, c.why) || len(text) > 400 {
					t.Errorf("told %q, want %s: …%s…", text, c.field, c.why)
				}
				_, err = codons.Delegate(t.Context(), w.eddy, "Till", p.TaskRequest{TaskType: "total price", Parameters: p.ContentOf(c.in)})
				wantEnd(t, err, "not_understood", p.CodeInvalidPayload)
				if again := endOf(t, err).Refusal.Text; again != text {
					t.Errorf("told %q, then %q", text, again)
				}
				w.settled(0)
			})
		})
	}
}

func TestToolIsTurnedDown(t *testing.T) {
	forbid := func(err error) codons.ToolOption {
		return codons.ToolGuard(func(m *p.Message) error {
			if m.Sender() == "Eddy" {
				return err
			}
			return nil
		})
	}
	for name, c := range map[string]struct {
		tool   string
		fn     func(context.Context, basket) (price, error)
		opts   []codons.ToolOption
		state  string
		code   p.Code
		worker string // the state of a delegation
	}{
		"no tool":       {tool: "subtotal", fn: total, state: "rejected", code: p.CodeIncapable, worker: "rejected"},
		"unauthorized":  {fn: total, opts: []codons.ToolOption{forbid(&p.Refusal{Code: p.CodeUnauthorized})}, state: "rejected", code: p.CodeUnauthorized, worker: "rejected"},
		"forbidden":     {fn: total, opts: []codons.ToolOption{forbid(errors.New("secret"))}, state: "rejected", code: p.CodeForbidden, worker: "rejected"},
		"guard fails":   {fn: total, opts: []codons.ToolOption{forbid(&p.Refusal{Code: p.CodeInternal})}, state: "failed", code: p.CodeInternal, worker: "failed"},
		"refusal":       {fn: func(context.Context, basket) (price, error) { return price{}, &p.Refusal{Code: p.CodeRateLimited} }, state: "rejected", code: p.CodeRateLimited, worker: "failed"},
		"error":         {fn: func(context.Context, basket) (price, error) { return price{}, errors.New("secret") }, state: "failed", code: p.CodeFailed, worker: "failed"},
		"panic":         {fn: func(context.Context, basket) (price, error) { panic("secret") }, state: "failed", code: p.CodeInternal, worker: "failed"},
		"no number":     {fn: func(context.Context, basket) (price, error) { return price{math.Inf(1)}, nil }, state: "failed", code: p.CodeInternal, worker: "failed"},
		"out of bounds": {fn: total, opts: []codons.ToolOption{codons.ToolOutput(atMost("total", 1))}, state: "failed", code: p.CodeInternal, worker: "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				if c.tool == "" {
					c.tool = "total price"
				}
				w.spawn("Till", newTill(t, c.fn, c.opts...))
				in := basket{Items: []item{{"tea", 2}}}
				_, err := codons.CallTool[basket, price](t.Context(), w.eddy, "Till", c.tool, in)
				wantEnd(t, err, machineState(c.state), c.code)
				noSecret(t, err)
				_, err = codons.Delegate(t.Context(), w.eddy, "Till", p.TaskRequest{TaskType: c.tool, Parameters: p.ContentOf(in)})
				wantEnd(t, err, machineState(c.worker), c.code)
				noSecret(t, err)
				w.settled(0)
			})
		})
	}
}

func atMost(member string, limit float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Properties[member].Maximum = &limit }
}

func TestToolSchemasAreNarrowed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Till", newTill(t, total, codons.ToolInput(atMost("tip", 5))))
		_, err := codons.CallTool[p.Raw, price](t.Context(), w.eddy, "Till", "total price", p.Raw(`{"items": [{"name": "tea", "cost": 1}], "tip": 6}`))
		wantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		got, err := codons.Whisper(t.Context(), w.eddy, "Till", details("total price"))
		if err != nil || !strings.Contains(string(got.Action.InputSchema), `"maximum":5`) || !strings.Contains(string(got.Action.OutputSchema), `"total"`) {
			t.Errorf("discovery sees %s and %s, %v", got.Action.InputSchema, got.Action.OutputSchema, err)
		}
	})
}

func TestToolsThatCannotBe(t *testing.T) {
	good := func(context.Context, basket) (price, error) { return price{}, nil }
	_, noName := codons.NewTool(" ", "", good)
	_, noFunction := codons.NewTool[basket, price]("x", "", nil)
	_, number := codons.NewTool("x", "", func(context.Context, int) (price, error) { return price{}, nil })
	_, pointer := codons.NewTool("x", "", func(context.Context, basket) (*price, error) { return nil, nil })
	_, channel := codons.NewTool("x", "", func(context.Context, struct{ C chan int }) (price, error) { return price{}, nil })
	a, _ := codons.NewTool("a b", "", good)
	b, _ := codons.NewTool("A_B", "", good)
	_, twins := codons.NewTools(a, b)
	for name, err := range map[string]error{
		"name": noName, "function": noFunction, "number": number, "pointer": pointer, "channel": channel, "twins": twins,
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestToolSaysNo has peers that are no [codons.ToolAgent] answer.
func TestToolSaysNo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("Shop")
		pending, err := codons.StartToolCall[basket, price](t.Context(), w.eddy, "Shop", "total price", basket{})
		if err != nil {
			t.Fatal(err)
		}
		m := a.next(p.ActTaskRequest)
		a.reply(m, p.TaskAccept{})
		a.reply(m, p.StatusUpdate{Description: "half"})
		a.reply(m, p.InformResult{Status: p.StatusFailure, Summary: "sold out"})
		_, err = pending.Wait()
		var no *codons.ToolError
		if !errors.As(err, &no) || no.Result.Summary != "sold out" || no.Tool != "total price" {
			t.Errorf("got %v", err)
		}
		w.spawn("Jules", &worker{})
		_, err = codons.CallTool[basket, price](t.Context(), w.eddy, "Jules", "total price", basket{})
		wantEnd(t, err, "rejected", p.CodeIncapable)
		w.settled(0)
	})
}

func TestToolCallIsCancelled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		returned := false
		w.spawn("Till", newTill(t, func(ctx context.Context, _ basket) (price, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			returned = true
			return price{}, context.Cause(ctx)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		pending, err := codons.StartToolCall[basket, price](ctx, w.eddy, "Till", "total price", basket{Items: []item{{}}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		cancel()
		_, err = pending.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		wantElapsed(t, start, time.Second)
		if !returned {
			t.Error("the receipt came before the tool had returned")
		}
		w.settled(0)
	})
}

func TestToolCallSurvivesLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActTaskRequest, p.ActInformResult} {
		inWorld(t, func(t *testing.T, w *world) {
			calls := 0
			w.spawn("Till", newTill(t, func(ctx context.Context, b basket) (price, error) {
				calls++
				return total(ctx, b)
			}))
			w.net.lose(act, 2)
			got, err := codons.CallTool[basket, price](t.Context(), w.eddy, "Till", "total price", basket{Items: []item{{"tea", 2}}})
			if err != nil || got.Total != 2 || calls != 1 {
				t.Errorf("%s: got %+v, %v after %d calls", act, got, err, calls)
			}
			w.settled(0)
		})
	}
}

func TestToolCallMeetsTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*world)
		state string
		code  p.Code
	}{
		"deadline":         {func(*world) { time.Sleep(time.Minute) }, "", p.CodeTimeout},
		"tool agent stops": {func(w *world) { _ = w.StopAgent(w.t.Context(), "Till") }, "failed", p.CodeStopped},
		"caller stops":     {func(w *world) { _ = w.StopAgent(w.t.Context(), "Eddy") }, "abandoned", p.CodeStopped},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Till", newTill(t, func(ctx context.Context, _ basket) (price, error) {
					<-ctx.Done()
					return price{}, context.Cause(ctx)
				}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				pending, err := codons.StartToolCall[basket, price](ctx, w.eddy, "Till", "total price", basket{Items: []item{{}}})
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				c.end(w)
				_, err = pending.Wait()
				if !errors.Is(err, c.code) || c.state != "" && endOf(t, err).State != machineState(c.state) {
					t.Errorf("got %v", err)
				}
				w.settled(0)
			})
		})
	}
}

func TestToolsDescribeThemselves(t *testing.T) {
	tools := newTill(t, total)
	if !tools.Has("Total-Price") || tools.Has("total") {
		t.Error("names are not compared as those of capabilities")
	}
	names := func(as []p.Action) (out []string) {
		for _, a := range as {
			out = append(out, a.Name)
		}
		return out
	}
	if got := names(tools.Describe().Actions); !slices.Equal(got, []string{"total price"}) {
		t.Errorf("got %q", got)
	}
}

// BenchmarkToolCheck is what the schemas cost a call: of arguments from outside, and
// of arguments from within the process.
func BenchmarkToolCheck(b *testing.B) {
	tool, err := codons.NewTool("total", "", total)
	if err != nil {
		b.Fatal(err)
	}
	tools, err := codons.NewTools(tool)
	if err != nil {
		b.Fatal(err)
	}
	for name, in := range map[string]any{
		"raw":   json.RawMessage(`{"items": [{"name": "tea", "cost": 5}, {"name": "cake", "cost": 3}], "tip": 3}`),
		"value": basket{Items: []item{{"tea", 5}, {"cake", 3}}},
	} {
		b.Run(name, func(b *testing.B) {
			task := codons.Task{TaskRequest: p.TaskRequest{TaskType: "total", Parameters: p.ContentOf(in)}}
			b.ReportAllocs()
			for b.Loop() {
				tools.ConsiderTask(b.Context(), task)
			}
		})
	}
}

// reversed is a type that checks itself, by a method of its pointer.
type reversed struct {
	From int `json:"from"`
	To   int `json:"to"`
}

func (r *reversed) Validate() error {
	if r.From < r.To {
		return errors.New("from is before to")
	}
	return nil
}

func TestToolArgumentsCheckThemselves(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		tool, err := codons.NewTool("count down", "", func(context.Context, reversed) (price, error) { return price{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		tools, err := codons.NewTools(tool)
		if err != nil {
			t.Fatal(err)
		}
		w.spawn("Till", &till{Tools: tools})
		for _, in := range []any{reversed{1, 2}, p.Raw(`{"from":1,"to":2}`)} {
			_, err := codons.CallTool[any, price](t.Context(), w.eddy, "Till", "count down", in)
			wantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		}
		if _, err := codons.CallTool[reversed, price](t.Context(), w.eddy, "Till", "count down", reversed{2, 1}); err != nil {
			t.Error(err)
		}
	})
}

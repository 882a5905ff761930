package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/tool"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestArgumentsAreNotSent has arguments that are no JSON object, or that JSON cannot hold: the
// caller gets an error that says so, and the agent gets no message.
func TestArgumentsAreNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		in   any
		want string
	}{
		"not a number": {basket{Items: []item{{"tea", math.NaN()}}}, "NaN"},
		"JSON array":   {json.RawMessage(`[1]`), "want an object, got"},
		"Go slice":     {[]int{1}, "want an object, got the Go type []int"},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				_, err := tool.Call[any, price](t.Context(), w.Eddy, "Till", "total price", c.in)
				var r *p.Refusal
				if !errors.As(err, &r) || r.Code != p.CodeInvalidPayload || r.Field != "payload.task_parameters" || !strings.Contains(r.Text, c.want) {
					t.Errorf("got %v, want payload.task_parameters: …%s…", err, c.want)
				}
				if sent := w.Lines(); len(sent) != 0 {
					t.Errorf("sent %q", sent)
				}
				w.Settled(0)
			})
		})
	}
}

// TestArgumentsDoNotFit checks the text for arguments that are a JSON object, so that only the
// agent finds the fault. A call and a delegated task get the same text.
func TestArgumentsDoNotFit(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, c := range map[string]struct {
		in    any
		field string
		why   string
	}{
		"missing":          {p.Raw(`{}`), "task_parameters.items", `this member is required`},
		"missing inside":   {p.Raw(`{"items": [{"name": "tea", "cost": 1}, {"cost": 1}]}`), "task_parameters.items[1].name", `this member is required`},
		"wrong type":       {p.Raw(`{"items": [{"name": 3, "cost": "z"}]}`), "task_parameters.items[0].cost", `want "number"`},
		"unknown":          {p.Raw(`{"items": [], "zip": 1, "hint": 2}`), "task_parameters.hint", "no such member"},
		"other case":       {p.Raw(`{"Items": []}`), "task_parameters.Items", "no such member"},
		"twice":            {json.RawMessage(`{"items": [{"name": "tea", "cost": 1}], "items": []}`), "task_parameters.items", "the member occurs twice"},
		"twice inside":     {json.RawMessage(`{"items": [{"name": "tea", "cost": 1, "co\u0073t": 2}]}`), "task_parameters.items[0].cost", "the member occurs twice"},
		"too large":        {p.Raw(`{"items": [{"name": "tea", "cost": 1}], "tip": 300}`), "task_parameters.tip", ""},
		"rule of the type": {p.Raw(`{"items": []}`), "task_parameters", "it is empty"},
		"not JSON":         {json.RawMessage(`{"items": }`), "task_parameters", "not a JSON value"},
		"long":             {map[string]any{"items": long}, "task_parameters.items", "want"},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.NoJSON.Store(name == "not JSON")
				w.Add("Till", newTill(t, func(context.Context, basket) (price, error) {
					t.Error("the tool was called")
					return price{}, nil
				}))
				_, err := tool.Call[any, price](t.Context(), w.Eddy, "Till", "total price", c.in)
				kit.WantEnd(t, err, "not_understood", p.CodeInvalidPayload)
				text := kit.EndOf(t, err).Refusal.Text
				if !strings.HasPrefix(text, c.field+": ") || name != "long" && !strings.Contains(text, c.why) || len(text) > 400 {
					t.Errorf("got %q, want %s: …%s…", text, c.field, c.why)
				}
				_, err = delegation.Delegate(t.Context(), w.Eddy, "Till", p.TaskRequest{TaskType: "total price", Parameters: p.ContentOf(c.in)})
				kit.WantEnd(t, err, "not_understood", p.CodeInvalidPayload)
				if again := kit.EndOf(t, err).Refusal.Text; again != text {
					t.Errorf("a call got %q, a delegated task %q", text, again)
				}
				w.Settled(0)
			})
		})
	}
}

// countdown is an argument type with a Validate method of its pointer.
type countdown struct {
	From int `json:"from"`
	To   int `json:"to"`
}

func (r *countdown) Validate() error {
	if r.From < r.To {
		return errors.New("from is before to")
	}
	return nil
}

func TestValidateOfThePointer(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		added, err := tool.New("count down", "", func(context.Context, countdown) (price, error) { return price{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		tools, err := tool.NewSet(added)
		if err != nil {
			t.Fatal(err)
		}
		w.Add("Till", &till{Tools: tools})
		for _, in := range []any{countdown{1, 2}, p.Raw(`{"from":1,"to":2}`)} {
			_, err := tool.Call[any, price](t.Context(), w.Eddy, "Till", "count down", in)
			kit.WantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		}
		if _, err := tool.Call[countdown, price](t.Context(), w.Eddy, "Till", "count down", countdown{2, 1}); err != nil {
			t.Error(err)
		}
	})
}

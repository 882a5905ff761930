package tool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/tool"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// basket and price are the arguments and the result of the tool in these tests.
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

// till is an agent with one tool.
type till struct{ *tool.Tools }

func newTill(t *testing.T, fn func(context.Context, basket) (price, error), opts ...tool.Option) *till {
	t.Helper()
	added, err := tool.New("total price", "adds up", fn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewSet(added)
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

func TestInvalidTools(t *testing.T) {
	good := func(context.Context, basket) (price, error) { return price{}, nil }
	_, noName := tool.New(" ", "", good)
	_, noFunction := tool.New[basket, price]("x", "", nil)
	_, number := tool.New("x", "", func(context.Context, int) (price, error) { return price{}, nil })
	_, pointer := tool.New("x", "", func(context.Context, basket) (*price, error) { return nil, nil })
	_, channel := tool.New("x", "", func(context.Context, struct{ C chan int }) (price, error) { return price{}, nil })
	a, _ := tool.New("a b", "", good)
	b, _ := tool.New("A_B", "", good)
	_, duplicate := tool.NewSet(a, b)
	for name, err := range map[string]error{
		"name": noName, "function": noFunction, "number": number, "pointer": pointer, "channel": channel, "duplicate": duplicate,
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "tool: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSchemasAreChanged(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Till", newTill(t, total, tool.Input(atMost("tip", 5))))
		_, err := tool.Call[p.Raw, price](t.Context(), w.Eddy, "Till", "total price", p.Raw(`{"items": [{"name": "tea", "cost": 1}], "tip": 6}`))
		kit.WantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		got, err := discovery.Whisper(t.Context(), w.Eddy, "Till", kit.Details("total price"))
		if err != nil || !strings.Contains(string(got.Action.InputSchema), `"maximum":5`) || !strings.Contains(string(got.Action.OutputSchema), `"total"`) {
			t.Errorf("discovery returns %s and %s, %v", got.Action.InputSchema, got.Action.OutputSchema, err)
		}
	})
}

func atMost(member string, limit float64) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Properties[member].Maximum = &limit }
}

func TestSetOfTools(t *testing.T) {
	tools := newTill(t, total)
	if !tools.Has("Total-Price") || tools.Has("total") {
		t.Error("names are not compared as FoldCapability does")
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

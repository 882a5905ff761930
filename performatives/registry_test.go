package performatives_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	p "github.com/ribosome-agents/ribosome/performatives"
)

type bid struct {
	Price int `json:"price"`
}

func (b bid) Validate() error {
	if b.Price < 0 {
		return errors.New("price: want 0 or more")
	}
	return nil
}

type byPointer struct{}

func (*byPointer) Validate() error { return nil }

type agreement struct{}

func (agreement) Act() p.Performative { return p.ActAgree }

const bids = "ex:bids"

func TestRegister(t *testing.T) {
	var r p.Registry
	if err := p.Register[bid](&r, p.ActPropose, bids); err != nil {
		t.Fatal(err)
	}
	if err := p.Register[map[string]int](&r, p.ActTaskRequest, bids); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		act      p.Performative
		ontology string
		in       string
		want     any
	}{
		{p.ActPropose, bids, `{"price":3}`, bid{3}},
		{p.ActPropose, "ex:other", `{"price":3}`, p.Raw(`{"price":3}`)},
		{p.ActCFP, bids, `{"price":3}`, p.Raw(`{"price":3}`)},
		{p.ActTaskRequest, bids, `{"n":3}`, map[string]int{"n": 3}}, // before the built-in type
		{p.ActTaskRequest, "", `{"task_type":"x"}`, p.TaskRequest{TaskType: "x", Extra: p.Members{}}},
		{p.ActAgree, "", ``, nil},
		{0, bids, `{}`, p.Raw(`{}`)},
		{255, bids, `{}`, p.Raw(`{}`)},
	}
	for _, tt := range tests {
		got, err := r.DecodePayload(tt.act, tt.ontology, json.RawMessage(tt.in))
		if err != nil || cmp.Diff(tt.want, got) != "" {
			t.Errorf("%s in %q of %q = %#v, %v; want %#v", tt.in, tt.ontology, tt.act, got, err, tt.want)
		}
	}
}

func TestRegisteredPayloadIsValidated(t *testing.T) {
	var r p.Registry
	if err := p.Register[bid](&r, p.ActPropose, bids); err != nil {
		t.Fatal(err)
	}
	for in, field := range map[string]string{
		`null`: "payload", `[]`: "payload", ``: "payload", `{`: "payload", `{"price":"much"}`: "payload.price", `{"price":1.5}`: "payload.price",
	} {
		_, err := r.DecodePayload(p.ActPropose, bids, json.RawMessage(in))
		var refusal *p.Refusal
		if !errors.As(err, &refusal) || refusal.Field != field {
			t.Errorf("%q: %v; want a refusal of %s", in, err, field)
		}
	}
	e := envelope(p.ActPropose)
	e.Payload = bid{-1}
	if _, err := p.New(e); !errors.Is(err, p.CodeInvalidPayload) || !strings.Contains(err.Error(), "payload: price: want 0 or more") {
		t.Errorf("New: %v", err)
	}
}

func TestRegisterRefuses(t *testing.T) {
	var r p.Registry
	tests := map[string]error{
		"is no act":                  p.Register[bid](&r, 0, bids),
		"want an ontology":           p.Register[bid](&r, p.ActPropose, ""),
		"performatives_test.bid":     p.Register[bid](&r, p.ActPropose, ""),
		"want a struct or a map":     p.Register[*bid](&r, p.ActPropose, bids),
		"so that it is a JSON":       p.Register[p.Raw](&r, p.ActPropose, bids),
		"register interface {}":      p.Register[any](&r, p.ActPropose, bids),
		"want Validate on the value": p.Register[byPointer](&r, p.ActPropose, bids),
		"got AGREE":                  p.Register[agreement](&r, p.ActPropose, bids),
	}
	for want, err := range tests {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Register = %v, want %q", err, want)
		}
	}
	if err := p.Register[bid](&r, p.ActPropose, bids); err != nil {
		t.Fatalf("a refused registration took the place: %v", err)
	}
	if err := p.Register[bid](&r, p.ActPropose, bids); !errors.Is(err, p.ErrRegistered) {
		t.Errorf("the second time: %v", err)
	}
}

func TestDecodedPayloadOwnsItsJSON(t *testing.T) {
	for act := range p.Performatives() {
		in := []byte(samples[act])
		if len(in) == 0 {
			in = []byte(`{"a":"b"}`)
		}
		v, twin := decode(t, act, in), decode(t, act, in)
		for i := range in {
			in[i] = '!'
		}
		if diff := cmp.Diff(twin, v); diff != "" || strings.Contains(mustJSON(t, v), "!") {
			t.Errorf("%s refers to the buffer that it was decoded from: %s", act, mustJSON(t, v))
		}
	}
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	var r p.Registry
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := p.Register[bid](&r, p.ActPropose, bids+strconv.Itoa(i)); err != nil {
				t.Error(err)
			}
			if _, err := r.DecodePayload(p.ActPropose, bids+"0", json.RawMessage(`{}`)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// Each member that an answer may have is in openapi.json under its name, and each one there is of
// an answer: an answer in which nothing is zero has all members, and one whose lists have elements
// that are zero has those that are required. An answer of another test lacks members that are left
// out without a value, such as the budget of a side.
func TestMembersOfAnswers(t *testing.T) {
	o := description(t)
	compared := map[string]bool{}
	compare := func(name string, schema json.RawMessage, value any) {
		t.Helper()
		for which, of := range map[string]any{
			"full": api.Complete(filled(reflect.TypeOf(value)).Interface()), "zero": listed(reflect.TypeOf(value)).Interface(),
		} {
			text, err := json.Marshal(of)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := o.compareMembers(schema, text, which == "full", compared); err != nil {
				t.Errorf("%s: a %s %T: %v", name, which, value, err)
			}
		}
	}
	answers := maps.Clone(api.Answers)
	for path, methods := range o.Paths {
		for method, operation := range methods {
			pattern := strings.ToUpper(method) + " " + path
			of := operation.Responses["200"].Content["application/json"].Schema
			if len(of) == 0 || path == "/api/openapi.json" {
				continue
			}
			value, known := answers[pattern]
			if !known {
				t.Errorf("the answer of %s is not compared", pattern)
				continue
			}
			delete(answers, pattern)
			compare(pattern, of, value)
		}
	}
	for pattern := range answers {
		t.Errorf("%s is not described", pattern)
	}
	compare("failure", o.Components.Responses["Failure"].Content["application/json"].Schema, api.Failed)
	decided, err := json.Marshal(filled(reflect.TypeOf(api.Decided)).Interface())
	if err != nil {
		t.Fatal(err)
	}
	if err := o.compareMembers(o.Paths["/api/approvals/{id}"]["post"].Body.Content["application/json"].Schema, decided, true, compared); err != nil {
		t.Errorf("decision: %v", err)
	}
	if err := o.compareMembers(o.Paths["/api/conversations/{id}/cancel"]["post"].Body.Content["application/json"].Schema, []byte(`{"reason":"r"}`), true, compared); err != nil {
		t.Errorf("cancel: %v", err)
	}

	documented := o.Paths["/api/events"]["get"].Responses["200"].Content["text/event-stream"].Events
	for name, value := range map[string]any{
		"message.sent": api.Live, "node.overload": api.Overload, "job.failed": observe.Failure{}, "supervision.decided": observe.Failure{}, "lost": struct {
			Lost int    `json:"lost"`
			Node string `json:"node"`
		}{}, "node": api.Stands,
	} {
		compare(name, documented[name], value)
	}
	at := events.At{Time: time.Unix(1, 0)}
	subject := filled(reflect.TypeFor[lifecycle.Subject]()).Interface().(lifecycle.Subject)
	for _, ev := range []events.Event{
		lifecycle.Transition{At: at, Subject: &subject, From: "a", To: "b", Message: "m"},
		lifecycle.Ended{
			At: at, Subject: &subject, State: "b", Code: performatives.CodeFailed, Began: time.Unix(0, 0), Path: []machine.State{"a", "b"},
			Span: lifecycle.Span{Trace: lifecycle.TraceID{1}, ID: lifecycle.SpanID{1}},
		},
	} {
		text, err := json.Marshal(events.Record{Seq: 1, Event: ev})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.compareMembers(documented[string(ev.Kind())], text, true, compared); err != nil {
			t.Errorf("%s: %v", ev.Kind(), err)
		}
	}
	for name := range o.Components.Schemas {
		if !compared[name] {
			t.Errorf("no answer with the schema %s is compared", name)
		}
	}
}

// object is what the comparison of members needs of a schema.
type object struct {
	Ref        string                     `json:"$ref"`
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      json.RawMessage            `json:"items"`
}

// compareMembers compares the names of the members of a JSON text, and of all objects in it, with
// those of a schema: all of them if the text is of a full value, and else the required ones only.
// It notes the named schemas that it has met.
func (o *openAPI) compareMembers(schema json.RawMessage, text []byte, full bool, met map[string]bool) error {
	if len(schema) == 0 { // a member that is not described, which the comparison of a full value notices
		return nil
	}
	var s object
	if err := json.Unmarshal(schema, &s); err != nil {
		return err
	}
	if name, found := strings.CutPrefix(s.Ref, componentSchemas); found {
		met[name] = true
		return o.compareMembers(o.Components.Schemas[name], text, full, met)
	}
	if string(text) == "null" && !full { // an answer has an empty list there
		return nil
	}
	if len(s.Items) > 0 {
		var all []json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
		for _, one := range all {
			if err := o.compareMembers(s.Items, one, full, met); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.Properties) == 0 {
		return nil
	}
	var has map[string]json.RawMessage
	if err := json.Unmarshal(text, &has); err != nil {
		return err
	}
	got, want := slices.Sorted(maps.Keys(has)), slices.Sorted(maps.Keys(s.Properties))
	if full && !slices.Equal(got, want) {
		return fmt.Errorf("it has the members %q, and openapi.json has %q", got, want)
	}
	for _, name := range s.Required {
		if !slices.Contains(got, name) {
			return fmt.Errorf("it has the members %q, without %s, which openapi.json requires", got, name)
		}
	}
	for name, value := range has {
		if err := o.compareMembers(s.Properties[name], value, full, met); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// filled returns a value of a type in which nothing is zero, as far as it is exported.
func filled(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch of {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return v
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`1`))
		return v
	case reflect.TypeFor[performatives.Performative]():
		v.Set(reflect.ValueOf(performatives.ActRequest))
		return v
	}
	switch of.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint64, reflect.Float64:
		v.Set(reflect.ValueOf(1).Convert(of))
	case reflect.Interface:
		v.Set(reflect.ValueOf(1))
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(filled(of.Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(of.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(filled(of.Key()), filled(of.Elem()))
	case reflect.Struct:
		for i := range of.NumField() {
			if f := v.Field(i); f.CanSet() {
				f.Set(filled(f.Type()))
			} else if of.Field(i).Anonymous { // its members may be set, and it may not
				for j := range f.NumField() {
					f.Field(j).Set(filled(f.Field(j).Type()))
				}
			}
		}
	default:
		panic("no value for " + of.String())
	}
	return v
}

// listed returns a zero value of a type, with one element in each list of a struct, and of those in
// it.
func listed(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return v
	}
	for i := range of.NumField() {
		f := v.Field(i)
		switch {
		case !f.CanSet():
		case f.Kind() == reflect.Slice && f.Type() != reflect.TypeFor[json.RawMessage]():
			f.Set(reflect.Append(f, listed(f.Type().Elem())))
		default:
			f.Set(listed(f.Type()))
		}
	}
	return v
}

// A comparison notices a member that has another name, one that is missing, and one that is not
// described, also within a list.
func TestMembersAreCompared(t *testing.T) {
	o := description(t)
	schema := json.RawMessage(`{"$ref":"` + componentSchemas + `Members"}`)
	full := filled(reflect.TypeOf(api.Answers["GET /api/members"]))
	text, err := json.Marshal(full.Interface())
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ from, to, want string }{
		{"", "", ""},
		{`"gossip"`, `"gossips"`, `"gossips"`},
		{`"gossip":"x",`, ``, `members`},
		{`"gossip"`, `"more":1,"gossip"`, `"more"`},
		{`"members"`, `"nodes"`, `"nodes"`},
	} {
		err := o.compareMembers(schema, bytes.Replace(text, []byte(change.from), []byte(change.to), 1), true, map[string]bool{})
		if (err == nil) != (change.want == "") || err != nil && !strings.Contains(err.Error(), change.want) {
			t.Errorf("%s: %v", change.to, err)
		}
	}
}

// A node without a cluster is its only member.
func TestMembersOfALoneNode(t *testing.T) {
	n, h, _ := serve(t, nil)
	v := read[api.MemberList](t, h, "/api/members")
	if len(v.Members) != 1 || v.Members[0].Name != n.Name() || v.Members[0].Labels == nil {
		t.Errorf("the members are %+v", v.Members)
	}
}

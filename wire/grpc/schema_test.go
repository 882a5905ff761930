package grpc

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

var (
	protoBlock = regexp.MustCompile(`(?s)(message|enum) (\w+) \{(.*?)\n\}`)
	protoField = regexp.MustCompile(`(?m)^\s*(repeated |map<)?([\w., ]+)>? (\w+) = (\d+);`)
	protoValue = regexp.MustCompile(`(?m)^\s*(\w+) = (\d+);`)
)

// The generated code is that of the text: make generate was run.
func TestGeneratedCodeIsUpToDate(t *testing.T) {
	text, err := os.ReadFile("ribosomev1/ribosome.proto")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]string{}
	for _, block := range protoBlock.FindAllStringSubmatch(string(text), -1) {
		fields := protoField
		if block[1] == "enum" {
			fields = protoValue
		}
		for _, f := range fields.FindAllStringSubmatch(block[3], -1) {
			written[block[2]+"."+f[len(f)-2]] = strings.Join(f[1:], " ")
		}
	}
	if diff := cmp.Diff(written, generated()); diff != "" {
		t.Errorf("run make generate (-ribosome.proto +ribosome.pb.go):\n%s", diff)
	}
}

// generated lists what is in the descriptor as the regular expressions list the text.
func generated() map[string]string {
	all := map[string]string{}
	file := ribosomev1.File_ribosome_v1_ribosome_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			all[string(m.Name())+"."+string(f.Name())] = strings.Join([]string{prefix(f), typeName(f), string(f.Name()), number(f.Number())}, " ")
		}
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			all[string(e.Name())+"."+string(v.Name())] = string(v.Name()) + " " + number(v.Number())
		}
	}
	return all
}

func number[T ~int32](n T) string { return protoreflect.ValueOfInt32(int32(n)).String() }

func prefix(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map<"
	case f.IsList():
		return "repeated "
	}
	return ""
}

func typeName(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return typeName(f.MapKey()) + ", " + typeName(f.MapValue())
	case f.Message() != nil:
		return strings.TrimPrefix(string(f.Message().FullName()), "ribosome.v1.")
	case f.Enum() != nil:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}

// The numbers that this package writes and reads are those of the schema.
func TestFieldNumbers(t *testing.T) {
	for message, fields := range map[string]map[string]protowire.Number{
		"Frame": {"envelopes": frameEnvelopes, "ping": framePing, "pong": framePong, "error": frameError, "close": frameClose},
		"Ping":  {"data": signalData}, "Pong": {"data": signalData}, "Close": {"reason": signalData},
		"Error": {"code": errorCode, "text": errorText, "about": errorAbout, "field": errorField},
		"Envelope": {
			"id": fieldID, "performative": fieldPerformative, "sender": fieldSender, "receiver": fieldReceiver,
			"conversation_id": fieldConversationID, "protocol": fieldProtocol, "in_reply_to": fieldInReplyTo,
			"reply_with": fieldReplyWith, "reply_by": fieldReplyBy, "timestamp": fieldTimestamp, "language": fieldLanguage,
			"ontology": fieldOntology, "priority": fieldPriority, "trace": fieldTrace, "payload": fieldPayload,
			"budget": fieldBudget, "metadata": fieldMetadata, "auth_token": fieldAuthToken,
			"message_type": fieldMessageType, "retry_after_ms": fieldRetryAfter,
		},
	} {
		d := ribosomev1.File_ribosome_v1_ribosome_proto.Messages().ByName(protoreflect.Name(message)).Fields()
		if d.Len() != len(fields) {
			t.Errorf("%s has %d fields, of which %d are known", message, d.Len(), len(fields))
		}
		for name, want := range fields {
			if f := d.ByName(protoreflect.Name(name)); f == nil || f.Number() != want {
				t.Errorf("%s.%s: %v, want number %d", message, name, f, want)
			}
		}
	}
}

func TestServiceIsThatOfTheSchema(t *testing.T) {
	s := ribosomev1.File_ribosome_v1_ribosome_proto.Services().Get(0)
	m := s.Methods().Get(0)
	if s.FullName() != serviceName || m.Name() != methodName || !m.IsStreamingClient() || !m.IsStreamingServer() {
		t.Errorf("got %v", m)
	}
}

// Every act and priority has its name and number in the schema.
func TestEnums(t *testing.T) {
	acts := 0
	for act := range performatives.Performatives() {
		acts++
		if got, want := ribosomev1.Performative(act).String(), "PERFORMATIVE_"+act.String(); got != want {
			t.Errorf("act %d is %s, want %s", act, got, want)
		}
	}
	if acts != 29 || len(ribosomev1.Performative_name) != acts+1 {
		t.Errorf("%d acts, %d in the schema", acts, len(ribosomev1.Performative_name))
	}
	for n, p := range priorities {
		if got, want := ribosomev1.Priority(n).String(), "PRIORITY_"+strings.ToUpper(p.String()); got != want {
			t.Errorf("priority %s is %s", p, got)
		}
	}
	if len(priorities) != int(performatives.Urgent-performatives.Low)+1 || priorities[0] != performatives.Normal {
		t.Errorf("the priorities are %v, of which the first is that of an absent one", priorities)
	}
}

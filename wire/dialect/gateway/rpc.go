package gateway

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The methods with a meaning of their own.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodResources  = "resources/list"
	methodRead       = "resources/read"

	notifications      = "notifications/"
	methodInitialized  = notifications + "initialized"
	methodCancelled    = notifications + "cancelled"
	methodProgress     = notifications + "progress"
	methodListChanged  = notifications + "tools/list_changed"
	progressOf100      = 100
	jsonrpcVersion     = `"2.0"`
	nullID             = "null"
	methodNotFoundText = "Method not found"
)

// kind is the kind of a JSON-RPC message.
type kind uint8

const (
	kindBroken kind = iota // invalid; it is answered
	kindRequest
	kindNotification
	kindResponse // possibly an invalid one; it is never answered
)

// rpc is one JSON-RPC message before its params or result are decoded. Its slices refer to
// the frame.
type rpc struct {
	kind    kind
	id      []byte // unchanged; nil for none, or for an invalid one
	method  string
	params  []byte // nil for none
	meta    []byte // params._meta, once it has been read; nil for none
	read    bool   // it has been
	result  []byte
	fault   []byte // the error
	extra   performatives.Members
	refusal *performatives.Refusal
}

func (r *rpc) refuse(field, text string) {
	if r.refusal == nil {
		r.refusal = &performatives.Refusal{Code: performatives.CodeUnexpectedAct, Field: field, Text: field + ": " + text}
	}
}

func (r *rpc) wrong(field, want string, got []byte) {
	r.refuse("mcp_payload."+field, "want "+want+", got "+jsonscan.KindOf(got))
}

// readRPC reads a JSON-RPC message.
func readRPC(text []byte) (r rpc) {
	if text = bytes.TrimLeft(text, " \t\r\n"); !jsonscan.Is(text, '{') {
		r.refuse("mcp_payload", "want a JSON-RPC message, got "+jsonscan.KindOf(text))
		return r
	}
	var seen memberSet
	for name, v := range jsonscan.Members(text) {
		r.member(&seen, name, v)
	}
	r.classify(seen)
	return r
}

// memberSet records the members of a JSON-RPC message.
type memberSet struct{ version, id, method, params, result, fault bool }

func (r *rpc) member(found *memberSet, name, v []byte) {
	var seen *bool
	switch string(name) {
	case "jsonrpc":
		seen = &found.version
		if string(v) != jsonrpcVersion {
			r.refuse("mcp_payload.jsonrpc", `want "2.0"`)
		}
	case "id":
		seen = &found.id
		r.readID(v)
	case "method":
		seen = &found.method
		r.readMethod(v)
	case "params":
		seen = &found.params
		r.readParams(v)
	case "result":
		seen, r.result = &found.result, v
	case "error":
		seen, r.fault = &found.fault, v
	default:
		if r.refusal == nil {
			r.keep(string(name), v)
		}
		return
	}
	if *seen {
		r.refuse("mcp_payload."+string(name), "want no second one")
	}
	*seen = true
}

func (r *rpc) readID(v []byte) {
	switch {
	case !jsonscan.Is(v, '"') && !jsonscan.IsNumber(v) && !jsonscan.IsNull(v):
		r.wrong("id", "a string, a number or null", v)
	case len(v) > maxID:
		r.refuse("mcp_payload.id", fmt.Sprintf("want at most %d bytes, got %d", maxID, len(v)))
	default:
		r.id = v
	}
}

func (r *rpc) readMethod(v []byte) {
	if !jsonscan.Is(v, '"') || len(v) == 2 {
		r.wrong("method", "a non-empty string", v)
		return
	}
	if len(v) > maxID {
		r.refuse("mcp_payload.method", fmt.Sprintf("want at most %d bytes, got %d", maxID, len(v)))
		return
	}
	r.method = string(jsonscan.TextBytes(v))
}

func (r *rpc) readParams(v []byte) {
	switch {
	case jsonscan.Is(v, '{'), jsonscan.Is(v, '['):
		r.params = v
	case !jsonscan.IsNull(v):
		r.wrong("params", "an object or an array", v)
	}
}

func (r *rpc) keep(name string, v []byte) {
	if secret(name) {
		return
	}
	if text := unfit(r.extra, prefixPayload+name, name); text != "" {
		r.refuse("mcp_payload", text)
		return
	}
	if r.extra == nil {
		r.extra = make(performatives.Members)
	}
	r.extra[prefixPayload+name] = bytes.Clone(v)
}

// classify sets the kind of the message, and checks that its members fit the kind.
func (r *rpc) classify(found memberSet) {
	if !found.version {
		r.refuse("mcp_payload.jsonrpc", `want "2.0", got nothing`)
	}
	answers := found.result || found.fault
	switch {
	case found.method && answers:
		r.refuse("mcp_payload", "want a method, or a result, or an error")
	case answers:
		r.kind = kindResponse
		if found.result && found.fault {
			r.refuse("mcp_payload", "want a result or an error, got both")
		}
	case !found.method:
		r.refuse("mcp_payload", "want a method, a result or an error")
	case r.refusal != nil: // stays broken
	case found.id && !(jsonscan.IsNull(r.id) && strings.HasPrefix(r.method, notifications)): // addenda §7
		r.kind = kindRequest
	default:
		r.kind = kindNotification
	}
}

// answered reports whether the message gets an answer.
func (r *rpc) answered() bool { return r.kind == kindBroken || r.kind == kindRequest }

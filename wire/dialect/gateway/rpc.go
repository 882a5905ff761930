package gateway

import (
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The methods with a meaning of their own.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodResources  = "resources/list"
	methodRead       = "resources/read"

	notifications     = "notifications/"
	methodInitialized = notifications + "initialized"
	methodCancelled   = notifications + "cancelled"
	methodProgress    = notifications + "progress"
	methodListChanged = notifications + "tools/list_changed"
	jsonrpcVersion    = `"2.0"`
	nullID            = "null"
)

// kind is the kind of a JSON-RPC message.
type kind uint8

const (
	kindBroken kind = iota // invalid; it is answered
	kindRequest
	kindNotification
	kindResponse // possibly an invalid one; it is never answered
)

// The members of a JSON-RPC message.
const (
	rpcVersion = iota
	rpcID
	rpcMethod
	rpcParams
	rpcResult
	rpcError
)

var rpcMembers = exchange.Names{"jsonrpc", "id", "method", "params", "result", "error"}

// rpc is one JSON-RPC message before its params or result are decoded. Its slices refer to
// the frame.
type rpc struct {
	exchange.Reader
	kind   kind
	id     []byte // unchanged; nil for none, or for an invalid one
	method string
	params []byte // nil for none
	meta   []byte // params._meta, once it has been read; nil for none
	read   bool   // it has been
	result []byte
	fault  []byte // the error
	extra  performatives.Members
}

// readRPC reads a JSON-RPC message. Without one, the error of an envelope is an answer.
func readRPC(text, fault []byte) (r rpc) {
	if text == nil && fault != nil {
		return rpc{kind: kindResponse, fault: fault}
	}
	r.Names, r.Path, r.Code = rpcMembers, "mcp_payload.", performatives.CodeUnexpectedAct
	if !jsonscan.Is(text, '{') {
		r.Invalid("mcp_payload", "a JSON-RPC message", text)
		return r
	}
	s := jsonscan.Scanner{Data: text, Depth: exchange.MaxDepth}
	if !r.Scan(&s, rpcMembers) {
		r.Refuse(invalidRequest("mcp_payload", "mcp_payload: "+s.Problem()))
	}
	v := &r.Values
	if string(v[rpcVersion]) != jsonrpcVersion {
		r.Wrong("mcp_payload.jsonrpc", jsonrpcVersion)
	}
	if v[rpcID] != nil {
		r.id = readID(&r.Fault, "mcp_payload.id", v[rpcID])
	}
	if v[rpcMethod] != nil {
		if r.method = r.Required(rpcMethod); len(r.method) > maxID {
			r.Wrong("mcp_payload.method", "at most %d bytes, got %d", maxID, len(r.method))
		}
	}
	switch params := v[rpcParams]; {
	case jsonscan.Is(params, '{'), jsonscan.Is(params, '['):
		r.params = params
	case !jsonscan.IsNone(params):
		r.Invalid("mcp_payload.params", "an object or an array", params)
	}
	r.result, r.fault = v[rpcResult], v[rpcError]
	r.classify()
	for _, u := range r.Unknown {
		if !secret(u.Name) {
			exchange.Keep(&r.extra, prefixPayload+u.Name, u.Value)
		}
	}
	return r
}

// classify sets the kind of the message, and checks that its members fit the kind.
func (r *rpc) classify() {
	v := &r.Values
	answers := r.result != nil || r.fault != nil
	switch {
	case v[rpcMethod] != nil && answers:
		r.Wrong("mcp_payload", "a method, or a result, or an error")
	case answers:
		r.kind = kindResponse
		if r.result != nil && r.fault != nil {
			r.Wrong("mcp_payload", "a result or an error, got both")
		}
	case v[rpcMethod] == nil:
		r.Wrong("mcp_payload", "a method, a result or an error")
	case r.Refusal != nil: // stays broken
	case v[rpcID] != nil && !(jsonscan.IsNull(r.id) && strings.HasPrefix(r.method, notifications)): // addenda §7
		r.kind = kindRequest
	default:
		r.kind = kindNotification
	}
}

// answered reports whether the message gets an answer.
func (r *rpc) answered() bool { return r.kind == kindBroken || r.kind == kindRequest }

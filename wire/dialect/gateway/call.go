package gateway

import (
	"bytes"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// toolCall reads the parameters of tools/call.
func (c *codec) toolCall(e *envelope, r *rpc, o *origin) wire.Inbound {
	var name, arguments, description, meta []byte
	task := performatives.TaskRequest{}
	jsonscan.Read(r.params, func(name string, v []byte) {
		if len(task.Extra) < maxMembers && !secret(name) {
			exchange.Keep(&task.Extra, name, v)
		}
	}, jsonscan.Find("name", &name), jsonscan.Find("arguments", &arguments), jsonscan.Find("task_description", &description), jsonscan.Find(memberMeta, &meta))
	r.read, r.meta = true, meta
	switch {
	case !jsonscan.Is(name, '"') || len(name) == 2:
		return c.refused(e, o, invalidParams("name", "a non-empty string", name))
	case !isObjectOrNone(arguments):
		return c.refused(e, o, invalidParams("arguments", "an object", arguments))
	case !jsonscan.IsNone(description) && !jsonscan.Is(description, '"'):
		return c.refused(e, o, invalidParams("task_description", "a string", description))
	case !isObjectOrNone(meta):
		return c.refused(e, o, invalidParams(memberMeta, "an object", meta))
	case jsonscan.Is(arguments, '{'):
		task.Parameters = performatives.RawContent(bytes.Clone(arguments))
	}
	to, tool, refusal := c.toolRoute(e, jsonscan.Text(name))
	if refusal != nil {
		return c.refused(e, o, refusal)
	}
	t, refusal := c.openingType(tool, meta)
	if refusal != nil {
		return c.refused(e, o, refusal)
	}
	if t.name != "" {
		return c.typedCall(e, r, o, to, t, bytes.Clone(arguments), "arguments")
	}
	task.TaskType, task.Description = tool, jsonscan.Text(description)
	if rest := metaRest(meta); rest != nil {
		task.Extra = with(task.Extra, "_meta", rest)
	}
	return c.serve(e, r, o, performatives.Envelope{Receiver: to, Payload: task}, &call{Token: progressToken(meta)})
}

// with adds a member to m, and returns m; it makes a nil m.
func with(m performatives.Members, name string, v []byte) performatives.Members {
	if m == nil {
		m = make(performatives.Members)
	}
	m[name] = v
	return m
}

// invalidParams is the refusal of parameters (-32602).
func invalidParams(name, want string, got []byte) *performatives.Refusal {
	return exchange.Invalid(strings.TrimSuffix("mcp_payload.params."+name, "."), want, got)
}

// isObjectOrNone reports whether a member is an object, null or absent.
func isObjectOrNone(v []byte) bool { return jsonscan.IsNone(v) || jsonscan.Is(v, '{') }

// metaOf returns the _meta of an object, or nil.
func metaOf(object []byte) []byte { return jsonscan.Member(object, memberMeta) }

// readMeta returns params._meta, or nil.
func (r *rpc) readMeta() []byte {
	if !r.read {
		r.read, r.meta = true, metaOf(r.params)
	}
	return r.meta
}

// progressToken returns a copy of the progress token of a _meta. It is nil if there is none, or
// if the value cannot be a token.
func progressToken(meta []byte) (token []byte) {
	jsonscan.Read(meta, nil, jsonscan.Find("progressToken", &token))
	if !jsonscan.Is(token, '"') && !jsonscan.IsNumber(token) || len(token) > maxID {
		return nil
	}
	return bytes.Clone(token)
}

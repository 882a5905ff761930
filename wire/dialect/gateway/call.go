package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// toolCall reads the parameters of tools/call.
func (c *codec) toolCall(e *envelope, r *rpc, o *origin) wire.Inbound {
	var name, arguments, description, meta []byte
	task := performatives.TaskRequest{}
	object(r.params, func(name string, v []byte) {
		if len(task.Extra) < maxMembers && !secret(name) {
			task.Extra = with(task.Extra, name, bytes.Clone(v))
		}
	}, found{"name", &name}, found{"arguments", &arguments}, found{"task_description", &description}, found{"_meta", &meta})
	switch {
	case !is(name, '"') || len(name) == 2:
		return c.refused(e, o, invalidParams("name", "a non-empty string", name))
	case arguments != nil && !is(arguments, '{') && !isNull(arguments):
		return c.refused(e, o, invalidParams("arguments", "an object", arguments))
	case is(arguments, '{'):
		task.Parameters = performatives.RawContent(bytes.Clone(arguments))
	}
	task.TaskType, task.Description = text(name), text(description)
	if rest := withoutToken(meta); rest != nil {
		task.Extra = with(task.Extra, "_meta", rest)
	}
	return c.serve(e, r, o, task, &call{token: progressToken(meta)})
}

// with returns m with one member more.
func with(m performatives.Members, name string, v []byte) performatives.Members {
	if m == nil {
		m = make(performatives.Members)
	}
	m[name] = v
	return m
}

// withoutToken returns what a _meta says beyond the progress token, or nil.
func withoutToken(meta []byte) []byte {
	if !is(meta, '{') {
		return nil
	}
	rest := performatives.Members{}
	object(meta, func(name string, v []byte) {
		if len(rest) < maxMembers {
			rest[name] = v
		}
	}, found{"progressToken", new([]byte)})
	if len(rest) == 0 {
		return nil
	}
	out, err := marshal(map[string]json.RawMessage(rest))
	if err != nil {
		return nil // cannot be: it is part of valid JSON
	}
	return out
}

// invalidParams is the refusal of parameters (-32602).
func invalidParams(name, want string, got []byte) *performatives.Refusal {
	field := "mcp_payload.params." + name
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: field, Text: fmt.Sprintf("%s: want %s, got %s", field, want, jsonscan.KindOf(got)),
	}
}

// metaOf returns params._meta, or nil.
func metaOf(params []byte) (meta []byte) {
	object(params, nil, found{"_meta", &meta})
	return meta
}

// progressToken reads the token of a _meta; nil for none. One that cannot be a token is
// none.
func progressToken(meta []byte) (token []byte) {
	object(meta, nil, found{"progressToken", &token})
	if !is(token, '"') && !isNumber(token) || len(token) > maxID {
		return nil
	}
	return bytes.Clone(token)
}

package gateway

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// queried returns the receiver of initialize, tools/list or tools/call: system in place of a
// target_namespace that is neither an agent nor a namespace.
func (c *codec) queried(e *envelope, method string) performatives.AgentID {
	of := performatives.AgentID(Namespace(e.target, method))
	if e.target == "" || c.session.Workers == nil {
		return of
	}
	if _, known := c.session.Workers(e.source, of, ""); !known {
		return NamespaceSystem
	}
	return of
}

// route returns the receiver of a call to a namespace, and the name of the tool there. A tool of
// that very name wins; else the name is AGENT.TOOL with an agent or a namespace of that namespace.
// Without such a tool, to is empty. A tool of several agents is refused; field is the member with
// the name.
func (c *codec) route(e *envelope, r *rpc, of performatives.AgentID, name, field string) (to performatives.AgentID, tool string) {
	if c.session.Workers == nil || r.Refusal != nil {
		return "", ""
	}
	to, tool = of, name
	workers, _ := c.session.Workers(e.source, of, name)
	for dot := 0; len(workers) == 0; dot++ { // the id of an agent may have dots
		next := strings.IndexByte(name[dot:], '.')
		if next < 0 {
			return "", ""
		}
		dot += next
		to, tool = performatives.AgentID(name[:dot]), name[dot+1:]
		if to == "" || tool == "" || !contains(of, to) {
			continue
		}
		var known bool
		if workers, known = c.session.Workers(e.source, to, tool); known {
			break
		}
	}
	if len(workers) > 1 {
		names := make([]string, len(workers))
		for i, id := range workers {
			names[i] = qualified(id, tool)
		}
		field = "mcp_payload." + field
		r.Refuse(&performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: field,
			Text: fmt.Sprintf("%s: several agents have %.64q: want one of %s", field, tool, strings.Join(names, ", ")),
		})
	}
	return to, tool
}

// contains reports whether an agent belongs to a namespace, or is it.
func contains(namespace, agent performatives.AgentID) bool {
	n, a := namespace.Fold(), agent.Fold()
	return n == NamespaceSystem || n == NamespaceDefault || n == a || strings.HasPrefix(string(a), string(n)+"/")
}

// qualified returns the name of a tool that several agents have (addenda §9).
func qualified(agent performatives.AgentID, tool string) string { return string(agent) + "." + tool }

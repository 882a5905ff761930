package gateway

import (
	"encoding/json"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// actionsOf reads a list of tools, in one array or several. It skips elements that are no
// tools.
func actionsOf(arrays ...[]byte) []performatives.Action {
	actions := []performatives.Action{}
	for _, v := range arrays {
		for elem := range jsonscan.Elements(v) {
			if a := actionOf(elem); a.Name != "" && len(actions) < maxTools {
				actions = append(actions, a)
			}
		}
	}
	return actions
}

// actionOf reads a tool: an object, or its bare name.
func actionOf(v []byte) (a performatives.Action) {
	if jsonscan.Is(v, '"') {
		a.Name = jsonscan.Text(v)
		return a
	}
	var name, description, input, output []byte
	jsonscan.Read(v, exchange.Rest(&a.Extra), jsonscan.Find("name", &name), jsonscan.Find("description", &description), jsonscan.Find("inputSchema", &input), jsonscan.Find("outputSchema", &output))
	a.Name, a.Description = jsonscan.Text(name), jsonscan.Text(description)
	a.InputSchema, a.OutputSchema = exchange.Schema(input), exchange.Schema(output)
	return a
}

// toolList returns the result of tools/list. For a client of MCP each tool has a schema.
func toolList(p performatives.InformCapabilities, mcp bool) ([]byte, error) {
	var actions []performatives.Action
	if p.Capabilities != nil {
		actions = p.Capabilities.Actions
	} else if p.Action != nil {
		actions = []performatives.Action{*p.Action}
	}
	number := make(map[string]int, len(actions))
	for _, a := range actions {
		number[performatives.FoldCapability(a.Name)]++
	}
	named := slices.Clone(actions) // the name of several agents has theirs in front
	for i, a := range actions {
		if agent := jsonscan.Text(a.Extra[toolAgent]); agent != "" && number[performatives.FoldCapability(a.Name)] > 1 {
			named[i].Name = qualified(performatives.AgentID(agent), a.Name)
		}
	}
	return jsonscan.Marshal(map[string]any{"tools": toolsOf(named, mcp)})
}

// toolsOf writes a list of tools. For a client of MCP each has a schema of its arguments. Invalid
// JSON in one of them fails when the list is marshaled.
func toolsOf(actions []performatives.Action, mcp bool) []json.RawMessage {
	tools := make([]json.RawMessage, len(actions))
	for i, a := range actions {
		if len(a.InputSchema) == 0 && mcp {
			a.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		b := jsonscan.OpenObject(nil)
		b.Text("name", a.Name)
		b.OptionalText("description", a.Description)
		b.Sorted(performatives.Members{"inputSchema": a.InputSchema, "outputSchema": a.OutputSchema})
		b.Sorted(a.Extra, "name", "description", "inputSchema", "outputSchema", toolAgent, memberMeta)
		putMeta(&b, a.Extra)
		tools[i] = append(b.JSON, '}')
	}
	return tools
}

// toolAgent is the member of a tool, and of its _meta, MCP's place for extensions, that names its
// agent.
const toolAgent = "agent"

// putMeta writes the _meta of a tool or a resource, with the agent that has it.
func putMeta(b *jsonscan.Builder, extra performatives.Members) {
	meta, agent := extra[memberMeta], extra[toolAgent]
	if len(agent) == 0 {
		b.Sorted(performatives.Members{memberMeta: meta})
		return
	}
	b.Open(memberMeta)
	b.Checked(toolAgent, agent)
	jsonscan.Read(meta, b.Raw, jsonscan.Find(toolAgent, new([]byte)))
	b.End()
}

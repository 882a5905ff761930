package gateway

import (
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// compression is the member of capabilities with the supported compressions.
const compression = "compression"

// compressions reads the compression of some capabilities: a list, or one name.
func compressions(capabilities []byte) []string {
	var v []byte
	jsonscan.Read(capabilities, nil, jsonscan.Find(compression, &v))
	if name := jsonscan.Text(v); name != "" {
		return []string{name}
	}
	return stringsOf(v)
}

// maxList is the number of elements that are read of a list of names.
const maxList = 1024

// stringsOf reads the strings of an array.
func stringsOf(v []byte) (out []string) {
	n := 0
	for elem := range jsonscan.Elements(v) {
		if s := jsonscan.Text(elem); s != "" {
			out = append(out, s)
		}
		if n++; n == maxList {
			break
		}
	}
	return out
}

// capabilitiesOf reads the capabilities of an end: its listed tools as actions, its resources,
// topics and ontologies (extensions), and all other members unchanged.
func capabilitiesOf(v []byte) performatives.Capabilities {
	out := performatives.Capabilities{}
	rest := exchange.Rest(&out.Extra, nil)
	jsonscan.Read(v, func(name string, v []byte) {
		switch list := jsonscan.Is(v, '['); {
		case name == "tools" && list:
			out.Actions = actionsOf(v)
		case name == "resources" && list:
			out.Resources = resourcesOf(v)
		case name == "topics" && list:
			out.Topics = stringsOf(v)
		case name == "ontologies" && list:
			out.Ontologies = stringsOf(v)
		default:
			rest(name, v)
		}
	})
	return out
}

// offer returns the capabilities of an agent of this node for initialize.
func (c *codec) offer(own performatives.Capabilities) (map[string]any, error) {
	out := extraMembers(own.Extra)
	delete(out, compression) // it belongs to the connection of the peer, not to the agent
	if len(own.Actions) > 0 {
		tools, err := toolsOf(own.Actions, false)
		if err != nil {
			return nil, err
		}
		out["tools"] = tools
	}
	if len(own.Resources) > 0 {
		out["resources"] = own.Resources
	}
	if len(own.Topics) > 0 {
		out["topics"] = own.Topics
	}
	if len(own.Ontologies) > 0 {
		out["ontologies"] = own.Ontologies
	}
	if c.mayOffer() {
		out[compression] = []string{compressionGzip}
	}
	return out, nil
}

package browser

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"

	"github.com/ribosome-agents/ribosome/performatives"
)

// named are the roles whose elements a screen reader announces by their names.
var named = []string{"button", "link", "textbox", "searchbox", "combobox", "checkbox", "grid", "listbox", "option", "dialog", "img", "image", "navigation", "search", "gridcell"}

// Each element that a user works with has a name for screen readers.
func testNames(t *testing.T, browser context.Context) {
	n := serve(t, nil)
	d := n.delegate(performatives.TaskRequest{TaskType: "dig"})
	_ = n.propose("deploy", nil)
	b := open(t, browser, n.url)
	for view, ready := range map[string]string{
		"": "td", "#/agents": ".row", "#/conversations": ".space .row", conversationOf(d.Conversation()): ".states .box", "#/approvals": ".step", "#/refusals": ".empty",
	} {
		b.goTo(view)
		b.until("document.querySelector(" + js(ready) + ")")
		tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, node := range tree.Nodes {
			if node.Ignored || node.Role == nil || !slices.Contains(named, text(node.Role)) {
				continue
			}
			seen++
			if text(node.Name) == "" {
				t.Errorf("%s: a %s without a name", view, text(node.Role))
			}
		}
		if seen < 8 {
			t.Errorf("%s: only %d elements with roles", view, seen)
		}
	}
}

// text returns the text of a property.
func text(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text) // a value of another type is no text
	}
	return text
}

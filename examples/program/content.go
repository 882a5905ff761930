package program

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ContentText returns the part of a message's content that a transcript shows, in one line or more.
func ContentText(m *performatives.Message) string {
	switch p := m.Payload().(type) {
	case performatives.TaskRequest:
		return fmt.Sprintf("%s: %s", p.TaskType, cmp.Or(p.Description, short(p.Parameters)))
	case performatives.TaskAccept:
		if p.TaskID == "" {
			return p.Comments
		}
		return fmt.Sprintf("%s (%s)", p.Comments, p.TaskID)
	case performatives.StatusUpdate:
		if p.Progress == nil {
			return p.Description
		}
		return fmt.Sprintf("%.0f%%: %s", *p.Progress, p.Description)
	case performatives.InformResult:
		return fmt.Sprintf("%s: %s", p.Status, Summary(p))
	case performatives.QueryCapabilities:
		return "who knows " + strings.Join(p.Parameters.Capabilities, " and ") + "?"
	case performatives.InformCapabilities:
		if len(p.Matched) == 0 {
			return "not me"
		}
		return "I know " + strings.Join(p.Matched, " and ")
	case performatives.Cancel:
		return p.Reason
	case performatives.Receipt:
		return p.Text
	}
	if r := m.AsRefusal(); r != nil {
		reason := *r
		reason.From = "" // the line already begins with the sender
		return reason.Error()
	}
	return ""
}

// Summary returns the summary of a result, or the beginning of its details if it has none.
func Summary(r performatives.InformResult) string { return cmp.Or(r.Summary, short(r.Details)) }

// short returns the beginning of c as JSON.
func short(c performatives.Content) string {
	const limit = 60
	text, err := json.Marshal(c)
	if err != nil || c.IsZero() {
		return ""
	}
	runes := []rune(string(text))
	if len(runes) <= limit {
		return string(text)
	}
	return string(runes[:limit]) + "…"
}

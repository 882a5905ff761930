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
		return accepted(p)
	case performatives.StatusUpdate:
		return progress(p)
	case performatives.InformResult:
		return fmt.Sprintf("%s: %s", p.Status, Summary(p))
	case performatives.QueryCapabilities:
		return "who knows " + strings.Join(p.Parameters.Capabilities, " and ") + "?"
	case performatives.InformCapabilities:
		return known(p)
	case performatives.Cancel:
		return p.Reason
	case performatives.Receipt:
		return p.Text
	}
	if r := m.AsRefusal(); r != nil {
		return refused(*r)
	}
	return ""
}

func accepted(p performatives.TaskAccept) string {
	if p.TaskID == "" {
		return p.Comments
	}
	return fmt.Sprintf("%s (%s)", p.Comments, p.TaskID)
}

func progress(p performatives.StatusUpdate) string {
	if p.Progress == nil {
		return p.Description
	}
	return fmt.Sprintf("%.0f%%: %s", *p.Progress, p.Description)
}

func known(p performatives.InformCapabilities) string {
	if len(p.Matched) == 0 {
		return "not me"
	}
	return "I know " + strings.Join(p.Matched, " and ")
}

func refused(r performatives.Refusal) string {
	r.From = "" // the line already begins with the sender
	return r.Error()
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

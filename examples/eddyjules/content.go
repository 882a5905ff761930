package main

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// contentText returns the part of a message's content that the transcript shows.
func contentText(m *performatives.Message) string {
	switch p := m.Payload().(type) {
	case performatives.TaskRequest:
		return fmt.Sprintf("%s: %s", p.TaskType, p.Description)
	case performatives.TaskAccept:
		return accepted(p)
	case performatives.StatusUpdate:
		return progress(p)
	case performatives.InformResult:
		return fmt.Sprintf("%s: %s", p.Status, p.Summary)
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

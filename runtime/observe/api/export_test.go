package api

import "github.com/ribosome-agents/ribosome/actors"

// Patterns returns the patterns of all routes but the one of what there is not.
func (h *Handler) Patterns() []string { return h.patterns }

// Frame returns the text of an event for a reader without filters.
func (h *Handler) Frame(record actors.Record) string { return h.event(filter{}, record) }

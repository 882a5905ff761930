package api

// Patterns returns the patterns of all routes but the one of what there is not.
func (h *Handler) Patterns() []string { return h.patterns }

//go:build !enginedispatcher

package enginedispatcher

// Enabled reports whether the engine's dispatcher is the default.
const Enabled = false

// Package agent has no code: its tests are the example.
package agent

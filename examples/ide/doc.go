// Package ide has no code: its tests are the example.
package ide

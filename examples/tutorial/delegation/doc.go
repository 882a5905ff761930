// Package delegation has no code: its tests are the example.
package delegation

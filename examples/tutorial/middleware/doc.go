// Package middleware has no code: its tests are the example.
package middleware

// Package gateway reads and writes the envelopes of the Wire Protocol.
package gateway

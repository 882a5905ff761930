// Package bridge writes and reads the JSON of the MCP-to-MCP Bridge Protocol.
package bridge

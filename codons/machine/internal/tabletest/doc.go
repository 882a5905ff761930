// Package tabletest holds tables and coordinations for the tests of package machine and
// package verify.
package tabletest

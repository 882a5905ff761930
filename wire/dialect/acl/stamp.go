package acl

import "time"

// appendTime appends t as RFC 3339 in UTC, in quotes (addenda §1).
func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

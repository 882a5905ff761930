package auth

import (
	"errors"
	"slices"
	"strings"
)

// The segments of a pattern that are not taken literally.
const (
	segmentAgent = "{agent}"
	segmentAny   = "*"
)

// uriPattern says where the agent id is in a URI: its segments, of which one is {agent}.
type uriPattern []string

// parsePattern reads the pattern of [CertOptions].
func parsePattern(text string) (uriPattern, error) {
	p := uriPattern(strings.Split(text, "/"))
	agents := 0
	for i, s := range p {
		switch {
		case s == segmentAgent:
			agents++
		case s == "" && i != 1:
			return nil, errors.New("a segment is empty")
		case s != segmentAny && strings.ContainsAny(s, "{}*%?#"):
			return nil, errors.New("want {agent} and * as whole segments, and none of %, ? and #")
		}
	}
	switch {
	case len(p) < 4 || !strings.HasSuffix(p[0], ":") || p[1] != "":
		return nil, errors.New("want a URI such as spiffe://example.org/ns/*/sa/{agent}")
	case agents != 1 || slices.Contains(p[:3], segmentAgent):
		return nil, errors.New("want the segment {agent} once, in the path")
	}
	return p, nil
}

// agent returns the agent id in a URI. It refuses paths with percent-encoding and with the segments
// . and .. (SPIFFE-ID §2.2), because two of them could denote the same agent id.
func (p uriPattern) agent(uri string) (string, bool) {
	segments := strings.Split(uri, "/")
	last := len(p) - 1
	if strings.ContainsAny(uri, "%?#") || len(segments) < len(p) || len(segments) > len(p) && p[last] != segmentAgent {
		return "", false
	}
	for i, s := range segments {
		if i != 1 && (s == "" || s == "." || s == "..") {
			return "", false
		}
		if i <= last && p[i] != segmentAgent && p[i] != segmentAny && p[i] != s {
			return "", false
		}
	}
	at := slices.Index(p, segmentAgent)
	if at == last {
		return strings.Join(segments[at:], "/"), true
	}
	return segments[at], true
}

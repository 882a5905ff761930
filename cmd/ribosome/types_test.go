package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

const analysisSchema = `{"type":"object","required":["analysis_type"],"properties":{"analysis_type":{"type":"string"},"depth":{"type":"integer","minimum":1}}}`

// A payload that breaks the schema of --type is refused in the dialect of its sender, with the name
// of the field, and the session goes on. The agent gets only what fits.
func TestMessageTypes(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "analysis.json", analysisSchema)
	n := hosts(t, "--no-auth", "--type", "CUSTOM_ANALYSIS=TASK_REQUEST:analysis.json", "--type", "x:y/z=INFORM:analysis.json")
	l := begins(t, "listen", "--addr", n.at["ws"], "--as", "Analyst", "--json")
	l.shows(&l.stderr, "connected")
	for _, d := range []struct {
		dialect, frame, refused, declined string
	}{
		{
			"rag", `{"type":"CUSTOM_ANALYSIS","sender":"Rag","receiver":"Analyst","trace_id":"ana-c-00%d","timestamp":"2025-01-30T10:30:0%[1]dZ","payload":%s}`,
			`"error_code":"INVALID_MESSAGE",.*"field":"payload.%s"`, `"error_message":"this agent only listens"`,
		},
		{
			"acl", `{"mcp_version":"0.1.0","message_id":"m%d","performative":"TASK_REQUEST","message_type":"CUSTOM_ANALYSIS","sender":{"agent_id":"Acl"},
				"receiver":{"agent_id":"Analyst"},"language":"application/json","timestamp":"2025-01-30T10:30:01Z","payload":%s}`,
			`"NOT_UNDERSTOOD".*"reason_text":"payload.%s: `, `"TASK_REJECT".*"this agent only listens"`,
		},
	} {
		t.Run(d.dialect, func(t *testing.T) {
			ask := conversing(t, n.at["tcp"])
			for i, bad := range []struct{ payload, field string }{
				{`{}`, "analysis_type"},
				{`{"analysis_type":7}`, "analysis_type"},
				{`{"analysis_type":"trend","depth":0}`, "depth"},
			} {
				answer := ask(fmt.Sprintf(d.frame, i, bad.payload))
				for _, want := range strings.Split(fmt.Sprintf(d.refused, bad.field), ".*") {
					if !strings.Contains(answer, want) {
						t.Errorf("%s is answered %s, without %s", bad.payload, answer, want)
					}
				}
			}
			answer := ask(fmt.Sprintf(d.frame, 4, `{"analysis_type":"from `+d.dialect+`","depth":2,"more":12345678901234567890}`))
			for _, want := range strings.Split(d.declined, ".*") {
				if !strings.Contains(answer, want) {
					t.Errorf("what fits is answered %s, without %s", answer, want)
				}
			}
			l.shows(&l.stdout, `"from `+d.dialect+`"`)
		})
	}
	got := l.end().stdout
	if strings.Count(got, `"message_type":"CUSTOM_ANALYSIS"`) != 2 || strings.Count(got, `"more":12345678901234567890`) != 2 {
		t.Errorf("the agent got\n%s", got)
	}
}

// conversing connects to a node over TCP, and returns a function that sends a frame and returns the
// next frame that comes.
func conversing(t *testing.T, url string) func(frame string) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return func(frame string) string {
		t.Helper()
		if _, err := c.Write(append(binary.BigEndian.AppendUint32([]byte("MC\x01"), uint32(len(frame))), frame...)); err != nil {
			t.Fatal(err)
		}
		header := make([]byte, 7)
		if _, err := io.ReadFull(c, header); err != nil || string(header[:3]) != "MC\x01" {
			t.Fatalf("%v: the node answers %q", err, header)
		}
		answer := make([]byte, binary.BigEndian.Uint32(header[3:]))
		if _, err := io.ReadFull(c, answer); err != nil || !json.Valid(answer) {
			t.Fatalf("%v: the node answers %q", err, answer)
		}
		return string(answer)
	}
}

// What --type cannot use.
func TestBadMessageTypes(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "ok.json", analysisSchema)
	writeFile(t, "broken.json", "{")
	writeFile(t, "wrong.json", `{"type":5}`)
	writeFile(t, "list.json", `["type"]`)
	writeFile(t, "text.json", `{"type":"string"}`)
	writeFile(t, "typo.json", `{"type":"objekt"}`)
	writeFile(t, "far.json", `{"$ref":"https://example.org/schema.json"}`)
	writeFile(t, "long.json", `{"title":"`+strings.Repeat("x", 64<<10)+`"}`)
	const form = `--type wants a name, an act and a file, such as CUSTOM_ANALYSIS=TASK_REQUEST:analysis.json`
	for flag, line := range map[string]string{ // as it begins
		"A":                                 form,
		"A=REQUEST":                         form,
		"=REQUEST:ok.json":                  form,
		"A=REQUEST:":                        form,
		"A B=REQUEST:ok.json":               `--type A B is no message type; want 1 to 64 letters, digits and _ - . : /`,
		"A=SHOUT:ok.json":                   `--type A: SHOUT is no act; want one such as TASK_REQUEST, REQUEST or INFORM`,
		"A=REQUEST:nope.json":               `--type A nope.json: no such file or directory; name a file that can be read`,
		"A=REQUEST:.":                       `--type A .: is a directory; name a file that can be read`,
		"A=REQUEST:long.json":               `--type A long.json: it is longer than 65536 bytes`,
		"A=REQUEST:broken.json":             `--type A: broken.json is not JSON: line 1, column 1: unexpected end of JSON input; want a JSON Schema`,
		"A=REQUEST:wrong.json":              `--type A: wrong.json is no JSON Schema of a payload: `,
		"A=REQUEST:list.json":               `--type A: list.json is no JSON Schema of a payload: `,
		"A=REQUEST:far.json":                `--type A: far.json is no JSON Schema of a payload: `,
		"A=REQUEST:typo.json":               `--type A: typo.json is no JSON Schema of a payload: `,
		"A=REQUEST:text.json":               `--type A: text.json is no JSON Schema of a payload: want one of an object, as every payload is; see https://json-schema.org`,
		"RETRIEVAL_REQUEST=REQUEST:ok.json": `--type RETRIEVAL_REQUEST: a dialect has this type itself; choose another name`,
		"DISCOVERY_ACK=REQUEST:ok.json":     `--type DISCOVERY_ACK: a dialect has this type itself; choose another name`,
		"INFORM=REQUEST:ok.json":            `--type INFORM: a dialect has this type itself; choose another name`,
	} {
		t.Run(flag, func(t *testing.T) {
			r := runs(t, "node", "--tcp", "127.0.0.1:0", "--no-auth", "--log-level", "error", "--type", flag)
			if r.code != exitUsage || !strings.HasPrefix(r.stderr, "ribosome: "+line) || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("exit code %d, stderr\n%s, want\nribosome: %s", r.code, r.stderr, line)
			}
		})
	}
	r := runs(t, "node", "--tcp", "127.0.0.1:0", "--no-auth", "--log-level", "error", "--type", "A=REQUEST:ok.json", "--type", "A=INFORM:ok.json")
	if r.code != exitUsage || r.stderr != "ribosome: --type A is given twice; leave one\n" {
		t.Errorf("got %+v", r)
	}
}

package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Masked replaces each masked value.
const Masked = "***"

// secretNames are the names of [DefaultMask], and secretKeys the kinds of keys that are among them,
// such as signing_key. The names of wholeWords match whole words only.
var (
	secretNames = []string{
		"password", "passwd", "passphrase", "passcode", "pwd", "pass", "pin", "otp", "totp", "secret", "token", "auth", "authorization", "credential", "creds",
		"cookie", "session", "jwt", "bearer", "signature", "cvv", "cvc",
	}
	secretKeys = []string{
		"api", "access", "private", "secret", "signing", "encryption", "master", "shared", "account", "service", "deploy", "session", "webhook", "license", "hmac", "aes", "rsa",
		"ssh", "pgp", "gpg", "tls", "ssl", "openai", "anthropic", "gemini", "mistral", "cohere", "huggingface", "hf", "aws", "azure", "gcp", "google", "github", "gitlab", "stripe",
		"twilio", "sendgrid", "slack", "datadog",
	}
	wholeWords = []string{"pass", "pin", "otp", "auth", "session", "signature", "hfkey"}

	// qualifiers are words behind a name that do not change what it is, as in passwordHash.
	qualifiers = []string{"hash", "hashed", "digest", "salt", "value", "text", "plain", "raw", "encrypted", "base64", "b64", "old", "new", "current", "confirm", "confirmation", "1", "2"}
)

// DefaultMask returns the names that a [Recorder] masks when its options name none.
func DefaultMask() []string {
	names := slices.Clone(secretNames)
	for _, kind := range secretKeys {
		names = append(names, kind+"_key")
	}
	return names
}

// Mask replaces values in JSON and in text. The name of a member matches when it ends with one of
// the mask's names, or with its plural; letter case, '_', '-' and spaces do not count, nor does a
// '.' in the name of a member. So "api_key" masks "X-Api-Key" and "openaiApiKeys". Short names such
// as "pin" and "auth" have to be whole words: they mask "cardPin", and neither "spin" nor "author".
// A word behind the name such as hash or confirmation does not count. The whole value of a match is
// replaced, an object or a list too. A number under a plural is a count, as in "max_tokens", and
// stays.
//
// Of an object with a name and a value, such as {"name":"Authorization","value":"…"}, the value is
// masked if the name matches. A text that is JSON is masked as JSON; in any other, as [Mask.Text]
// does it.
//
// A mask does not find a secret without a telling name: in a sentence, in a list of values, under a
// name such as "key", "data" or "session_id", in a name without separators ("userpass"), or in
// encoded text (base64, compressed). A path finds what the names do not.
//
// A name of the mask with dots is a path of members: "card.number" masks the members number of all
// members card, wherever those are, and "payload.card.number" only that of the member card of the
// whole payload, or of a member payload in it. Of a path, each name has to be the whole name of a
// member; "*" stands for any name. Items of lists are no steps of a path. The zero Mask masks
// nothing.
type Mask struct {
	names []string
	paths [][]string
	ends  suffixes // of the names and the qualifiers
	odd   bool     // a name has characters that end a name in a text
}

// wholePayload is the first step of a path that begins at the whole value, and anyName is a step
// that stands for any name.
const (
	wholePayload = "payload"
	anyName      = "*"
)

// NewMask returns the mask of names and paths. Empty ones are left out.
func NewMask(names []string) Mask {
	var m Mask
	for _, name := range names {
		var path []string
		for step := range strings.SplitSeq(name, ".") {
			if step = normal(step); step != "" {
				path = append(path, step)
			}
		}
		switch len(path) {
		case 0:
		case 1:
			m.names = append(m.names, path[0])
		default:
			m.paths = append(m.paths, path)
		}
	}
	for _, name := range m.names {
		if slices.Contains(wholeWords, name) {
			m.ends.add(name, asWord)
		} else {
			m.ends.add(name, everyEnding)
		}
		m.odd = m.odd || strings.ContainsAny(name, `:="\`)
	}
	for _, q := range qualifiers {
		m.ends.add(q, afterWord)
	}
	return m
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

func normal(name string) string { return separators.Replace(strings.ToLower(name)) }

// JSON returns the text with its masked values replaced and its members sorted by name. The error
// says that text is not one JSON value.
func (m Mask) JSON(text []byte) (json.RawMessage, error) {
	value, err := decode(text)
	if err != nil {
		return nil, err
	}
	w := walk{mask: m}
	return json.Marshal(w.value(value, []string{wholePayload}))
}

func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a number keeps its digits
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("observe: mask: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("observe: mask: text after the JSON value")
	}
	return value, nil
}

// walk masks one JSON value.
type walk struct {
	mask   Mask
	masked bool // something in the value is masked
}

// value masks the value at a path, which begins with wholePayload.
func (w *walk) value(v any, at []string) any {
	switch v := v.(type) {
	case map[string]any:
		var roles pairRole
		for name, member := range v {
			v[name] = w.member(name, member, at)
			roles |= roleOf(name)
		}
		if roles == pairName|pairValue {
			w.pair(v)
		}
	case []any:
		for i := range v {
			v[i] = w.value(v[i], at)
		}
	case string:
		return w.text(v)
	}
	return v
}

// member masks the value of a member. Without paths in the mask, its path is not read.
func (w *walk) member(name string, value any, at []string) any {
	_, number := value.(json.Number)
	hidden := w.mask.hides(name, number)
	if len(w.mask.paths) > 0 {
		at = append(at, normal(name))
		hidden = hidden || slices.ContainsFunc(w.mask.paths, func(path []string) bool { return endsWith(at, path) })
	}
	if hidden {
		w.masked = true
		return Masked
	}
	return w.value(value, at)
}

// pairRole is what a member is in an object that has a name and a value of this name as two
// members.
type pairRole uint8

const (
	pairName pairRole = 1 << iota
	pairValue
)

var (
	pairNames  = []string{"name", "key", "header", "field"}
	pairValues = []string{"value", "values", "val", "content"}
	pairEnds   suffixes
)

func init() {
	for _, word := range slices.Concat(pairNames, pairValues) {
		pairEnds.add(word, asWord)
	}
}

func roleOf(member string) pairRole {
	if !pairEnds.mayEnd(member) {
		return 0
	}
	switch member = normal(member); {
	case slices.Contains(pairNames, member):
		return pairName
	case slices.Contains(pairValues, member):
		return pairValue
	}
	return 0
}

// pair masks the value of an object that has the name of it as another member.
func (w *walk) pair(v map[string]any) {
	hides := false
	for member, name := range v {
		text, is := name.(string)
		hides = hides || is && roleOf(member) == pairName && w.mask.hides(text, false)
	}
	if !hides {
		return
	}
	w.masked = true
	for member := range v {
		if roleOf(member) == pairValue {
			v[member] = Masked
		}
	}
}

// text masks a text, which may be JSON. It stays as it is if nothing in it is masked.
func (w *walk) text(text string) string {
	masked, is := w.mask.textOfJSON(text)
	if !is {
		masked = w.mask.Text(text)
	}
	w.masked = w.masked || masked != text
	return masked
}

// textOfJSON masks a text that is JSON. It is false for any other.
func (m Mask) textOfJSON(text string) (masked string, is bool) {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) < 2 || trimmed[0] != '{' && trimmed[0] != '[' {
		return "", false
	}
	if !m.mayMask(trimmed) {
		return text, true
	}
	w := walk{mask: m}
	value, err := decode([]byte(trimmed))
	if err != nil {
		return "", false
	}
	if value = w.value(value, []string{wholePayload}); !w.masked {
		return text, true
	}
	all, err := json.Marshal(value)
	return string(all), err == nil
}

// hides reports whether the values of members of a name are masked.
func (m Mask) hides(name string, number bool) bool {
	return m.ends.mayEnd(name) && m.hidesWords(wordsOf(name), number)
}

func (m Mask) hidesWords(words []string, number bool) bool {
	for len(words) > 1 && slices.Contains(qualifiers, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	joined := strings.Join(words, "")
	return slices.ContainsFunc(m.names, func(masked string) bool {
		whole, found := joined, strings.HasSuffix(joined, masked)
		if !found && !number && strings.HasSuffix(joined, "s") {
			whole = joined[:len(joined)-1]
			found = strings.HasSuffix(whole, masked)
		}
		return found && (!slices.Contains(wholeWords, masked) || beginsWord(words, len(whole)-len(masked)))
	})
}

// beginsWord reports whether a word begins at a place of the joined words.
func beginsWord(words []string, at int) bool {
	for _, w := range words {
		if at <= 0 {
			break
		}
		at -= len(w)
	}
	return at == 0
}

// wordsOf returns the words of a name in lower case: those of openaiKey, openai_key and OPENAI-KEY
// are the same.
func wordsOf(name string) (words []string) {
	from, before := 0, rune(0)
	end := func(at int) {
		if at > from {
			words = append(words, strings.ToLower(name[from:at]))
		}
		from = at
	}
	for i, r := range name {
		switch {
		case strings.ContainsRune("_-. ", r):
			end(i)
			from = i + 1
		case unicode.IsUpper(r) && !unicode.IsUpper(before), unicode.IsDigit(r) && !unicode.IsDigit(before):
			end(i)
		case unicode.IsLower(r) && unicode.IsUpper(before) && i-utf8.RuneLen(before) > from: // the last letter of AI and Key in AIKey
			end(i - utf8.RuneLen(before))
		}
		before = r
	}
	end(len(name))
	return words
}

func endsWith(at, path []string) bool {
	if len(path) > len(at) {
		return false
	}
	for i, step := range at[len(at)-len(path):] {
		if path[i] != step && path[i] != anyName {
			return false
		}
	}
	return true
}

// assignedValue matches the value behind a name and its separator in a text, such as token= and
// Authorization:.
var assignedValue = regexp.MustCompile(`^(?:(?i:bearer|basic)\s+)?(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&"')\]}]+)`)

// spaces are those of \s in a regular expression.
const spaces = "\t\n\f\r "

// Text returns a text with the values masked that stand behind a name of the mask and a colon or an
// equals sign, also in the query of a URL, and names and passwords in URLs. It is for texts that
// people read: a secret that stands in a sentence without its name is not found. The time is
// linear.
func (m Mask) Text(text string) string {
	if len(m.names) == 0 {
		return text
	}
	if strings.IndexByte(text, '@') >= 0 {
		text = withoutUserinfo(text)
	}
	var b strings.Builder
	written, from := 0, 0 // the bytes written to b, and where the next name can begin
	for at := range assignments(text) {
		if at < from {
			continue // in a value
		}
		name := nameBefore(text[from:at])
		from = at + 1
		if name == "" || !m.hides(name, false) {
			continue
		}
		begins := len(text) - len(strings.TrimLeft(text[from:], spaces))
		value := assignedValue.FindString(text[begins:])
		if _, err := strconv.ParseFloat(value, 64); value != "" && m.hides(name, err == nil) {
			b.WriteString(text[written:begins])
			b.WriteString(Masked)
			from = begins + len(value)
			written = from
		}
	}
	return b.String() + text[written:]
}

// withoutUserinfo masks the names and passwords in the URLs of a text.
func withoutUserinfo(text string) string {
	var b strings.Builder
	for written, from := 0, 0; ; {
		at := strings.Index(text[from:], "://")
		if at < 0 {
			return b.String() + text[written:]
		}
		from += at + len("://")
		if n := strings.IndexAny(text[from:], spaces+`/?#@"'`); n > 0 && text[from+n] == '@' {
			b.WriteString(text[written:from])
			b.WriteString(Masked)
			from += n
			written = from
		}
	}
}

// assignments yields the places of the colons and equals signs of a text.
func assignments(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		next := func(of byte, from int) int {
			if i := strings.IndexByte(text[from:], of); i >= 0 {
				return from + i
			}
			return len(text)
		}
		colon, equals := next(':', 0), next('=', 0)
		for {
			at := min(colon, equals)
			if at == len(text) || !yield(at) {
				return
			}
			if at == colon {
				colon = next(':', at+1)
			} else {
				equals = next('=', at+1)
			}
		}
	}
}

// nameBefore returns the name at the end of a text, without the quote and the spaces behind it.
func nameBefore(text string) string {
	text = strings.TrimRight(text, spaces)
	if n := len(text); n > 0 && (text[n-1] == '"' || text[n-1] == '\'') {
		text = text[:n-1]
	}
	from := len(text)
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-", r) {
			break
		}
		from -= size
	}
	return text[from:]
}

// mayMask reports whether something in a text that may be JSON can be masked. It reads the names
// without decoding the text: what an escape can change counts as masked.
func (m Mask) mayMask(text string) bool {
	escaped := strings.IndexByte(text, '\\') >= 0
	if len(m.paths) > 0 || m.odd || strings.IndexByte(text, '@') >= 0 && (escaped || strings.Contains(text, "://")) {
		return true
	}
	var roles pairRole
	from := 0
	for at := range assignments(text) {
		before := strings.TrimRight(text[from:at], spaces)
		from = at + 1
		name := nameBefore(before)
		if quoted, is := strings.CutSuffix(before, `"`); is { // a member, whose name may have any characters
			name = quoted[strings.LastIndexByte(quoted, '"')+1:]
			roles |= roleOf(name)
		}
		if roles == pairName|pairValue || m.ends.mayEnd(name) || escaped && strings.LastIndexByte(before, '\\') >= len(before)-len(`\"`)-len(name) {
			return true
		}
	}
	return false
}

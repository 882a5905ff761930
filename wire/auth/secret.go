package auth

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	goruntime "runtime"
)

// Secret is a text that is not to be seen, such as a token. Printed, logged or written as
// JSON, it says "[redacted]"; string(s) is the text.
type Secret string

const redacted = "[redacted]"

// Format writes "[redacted]", whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (Secret) GoString() string { return redacted }

// MarshalText returns "[redacted]".
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// opaque makes a type print as its name and nothing else.
type opaque string

// Format writes the name, whatever the verb.
func (o opaque) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, string(o)) }

// String returns the name.
func (o opaque) String() string { return string(o) }

// LogValue returns the name.
func (o opaque) LogValue() slog.Value { return slog.StringValue(string(o)) }

// MarshalText returns the name.
func (o opaque) MarshalText() ([]byte, error) { return []byte(o), nil }

// Exposed returns what is wrong with the permissions of a file that holds a secret, to be
// shown to its owner, or nothing. It looks at the bits of Unix alone. A file that is not
// there is not exposed.
func Exposed(path string) (warning string) {
	info, err := os.Stat(path)
	if err != nil || goruntime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("%s can be read or changed by others than its owner (mode %04o): chmod 600", path, info.Mode().Perm())
}

// readSmall reads a file that has no reason to be long. The error names the file.
func readSmall(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("auth: %w", err)
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("auth: %s is longer than %d bytes", path, limit)
	}
	return b, nil
}

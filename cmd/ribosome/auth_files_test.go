package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An error that is repeated is passed on once a minute, and another one at once.
func TestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		say := seldom(func(err error) { said = append(said, err.Error()) })
		a, b := errors.New("a"), errors.New("b")
		for _, err := range []error{a, a, b, b, a} {
			say(err)
			time.Sleep(20 * time.Second)
		}
		for range 4 {
			say(a)
			time.Sleep(20 * time.Second)
		}
		if got := strings.Join(said, ""); got != "abaa" {
			t.Errorf("it said %s, want abaa", got)
		}
	})
}

// A token file that cannot be read any more is told, and the token before stays in use.
func TestTokenFileThatIsLost(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "token", "secret\n")
	synctest.Test(t, func(t *testing.T) {
		var told []error
		token, err := (&credentialFlags{TokenFile: "token"}).bearer(func(err error) { told = append(told, err) })
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove("token"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := token(); got != "secret" || len(told) != 1 || !strings.Contains(told[0].Error(), "token: no such file") {
			t.Errorf("the token is %q, and it has told %v", got, told)
		}
	})
}

package main

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/ribosome-agents/ribosome/wire"
)

// decodeDuration reads a length of time that is not negative.
func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("want a length of time, such as 500ms, 30s or 5m, not %.40q", shown(text))
	}
	target.SetInt(int64(d))
	return nil
}

// rate is a [wire.Rate], written such as 100/1m.
type rate wire.Rate

// UnmarshalText reads a number of messages and a window.
func (r *rate) UnmarshalText(text []byte) error {
	number, window, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(number)
	d, err2 := time.ParseDuration(window)
	if err != nil || err2 != nil || n <= 0 || d <= 0 {
		return fmt.Errorf("want a number of messages and a window, such as 100/1m, not %.40q", shown(string(text)))
	}
	*r = rate{Messages: n, Window: d}
	return nil
}

// size is a number of bytes, written such as 65536, 64KiB or 16MiB.
type size int

// units are the suffixes of a [size].
var units = []struct {
	suffix string
	bytes  int
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}}

// UnmarshalText reads a positive number of bytes.
func (s *size) UnmarshalText(text []byte) error {
	for _, u := range units {
		number, ok := strings.CutSuffix(string(text), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n <= 0 || n > math.MaxInt32/u.bytes {
			break
		}
		*s = size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("want a number of bytes up to 2 GiB, such as 65536, 64KiB or 16MiB, not %.40q", shown(string(text)))
}

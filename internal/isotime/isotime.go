// Package isotime parses ISO 8601 times (addenda §1).
package isotime

import "time"

// Parse parses an ISO 8601 time: a calendar, ordinal or week date in basic or extended
// format; then, after T or a space, the time to the minute or second with up to nine
// fractional digits; then the zone (addenda §1). A missing zone means UTC, a missing time
// midnight. The result is in UTC and in the years 0 to 9999, which RFC 3339 can represent.
func Parse(text []byte) (time.Time, bool) {
	c := cursor{text: text}
	day := c.date()
	var clock, offset time.Duration
	if len(c.text) > 0 {
		if !c.eat('T') && !c.eat('t') {
			c.require(c.eat(' '))
		}
		clock = c.clock()
		offset = c.zone()
	}
	t := day.Add(clock - offset)
	ok := !c.bad && len(c.text) == 0 && t.Year() >= 0 && t.Year() <= 9999
	return t, ok
}

// cursor consumes text from its front. After the first error, bad remains true.
type cursor struct {
	text []byte
	bad  bool
}

func (c *cursor) require(ok bool) { c.bad = c.bad || !ok }

func (c *cursor) eat(b byte) bool {
	if len(c.text) == 0 || c.text[0] != b {
		return false
	}
	c.text = c.text[1:]
	return true
}

// run returns the number of digits at the front.
func (c *cursor) run() int {
	n := 0
	for n < len(c.text) && c.text[n]-'0' <= 9 {
		n++
	}
	return n
}

// number parses n digits as a number from low to high.
func (c *cursor) number(n, low, high int) int {
	if len(c.text) < n {
		c.bad = true
		return low
	}
	v := 0
	for _, d := range c.text[:n] {
		c.require(d-'0' <= 9)
		v = v*10 + int(d-'0')
	}
	c.text = c.text[n:]
	c.require(v >= low && v <= high)
	return v
}

func (c *cursor) date() time.Time {
	year := c.number(4, 0, 9999)
	extended := c.eat('-')
	switch {
	case c.eat('W'):
		return c.week(year, extended)
	case c.run() == 3:
		return c.ordinal(year)
	}
	month := c.number(2, 1, 12)
	c.require(c.eat('-') == extended)
	day := c.number(2, 1, 31)
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	c.require(t.Day() == day)
	return t
}

func (c *cursor) ordinal(year int) time.Time {
	t := time.Date(year, time.January, c.number(3, 1, 366), 0, 0, 0, 0, time.UTC)
	c.require(t.Year() == year)
	return t
}

// week parses a week date. Week 1 contains January 4, and day 1 is Monday.
func (c *cursor) week(year int, extended bool) time.Time {
	week := c.number(2, 1, 53)
	c.require(c.eat('-') == extended)
	day := c.number(1, 1, 7)
	fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC)
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7)
	t := monday.AddDate(0, 0, (week-1)*7+day-1)
	isoYear, isoWeek := t.ISOWeek()
	c.require(isoYear == year && isoWeek == week)
	return t
}

// clock parses the time of day. A leap second becomes the first second of the next minute,
// because time.Time has no leap seconds.
func (c *cursor) clock() time.Duration {
	hour := c.number(2, 0, 24)
	extended := c.eat(':')
	d := time.Duration(hour) * time.Hour
	d += time.Duration(c.number(2, 0, 59)) * time.Minute
	if c.eat(':') {
		c.require(extended)
		d += c.seconds()
	} else if !extended && c.run() > 0 {
		d += c.seconds()
	}
	c.require(hour < 24 || d == 24*time.Hour) // 24:00 is the end of the day
	return d
}

func (c *cursor) seconds() time.Duration {
	d := time.Duration(c.number(2, 0, 60)) * time.Second
	if !c.eat('.') && !c.eat(',') {
		return d
	}
	n := c.run()
	c.require(n >= 1 && n <= 9)
	if c.bad {
		return 0
	}
	fraction := time.Duration(c.number(n, 0, 999_999_999))
	for ; n < 9; n++ {
		fraction *= 10
	}
	return d + fraction
}

// zone parses the offset from UTC. East is positive.
func (c *cursor) zone() time.Duration {
	c.require(!c.eat(' ') || len(c.text) > 0)
	sign := time.Duration(1)
	switch {
	case len(c.text) == 0, c.eat('Z'), c.eat('z'):
		return 0
	case c.eat('-'):
		sign = -1
	default:
		c.require(c.eat('+'))
	}
	d := time.Duration(c.number(2, 0, 23)) * time.Hour
	if c.eat(':') || c.run() > 0 {
		d += time.Duration(c.number(2, 0, 59)) * time.Minute
	}
	return sign * d
}

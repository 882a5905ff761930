package codons

import (
	"crypto/sha256"
	"reflect"
	"testing"
	"time"
)

// The types of TestHashOfAPayloadType are named alike: a hash that differs does so because of their
// fields.

func plainPayload() reflect.Type {
	type payload struct {
		File  string `json:"file"`
		Lines []int  `json:"lines"`
		Near  struct{ Line int }
	}
	return reflect.TypeFor[payload]()
}

func payloadWithMemory() reflect.Type {
	type payload struct {
		File  string `json:"file"`
		Lines []int  `json:"lines"`
		Near  struct{ Line int }
		seen  time.Time // which does not travel
	}
	var p payload
	_ = p.seen
	return reflect.TypeOf(p)
}

// Two nodes have the same hash of a payload type if it has the same name and the same exported
// fields with the same names, tags and types, at any depth.
func TestHashOfAPayloadType(t *testing.T) {
	sum := func(of reflect.Type) [sha256.Size]byte {
		h := sha256.New()
		hashType(h, of, nil)
		return [sha256.Size]byte(h.Sum(nil))
	}
	plain := sum(plainPayload())
	if sum(plainPayload()) != plain || sum(payloadWithMemory()) != plain {
		t.Error("equal types have different hashes")
	}
	seen := map[[sha256.Size]byte]string{plain: "none"}
	for change, of := range map[string]reflect.Type{
		"a renamed field": func() reflect.Type {
			type payload struct {
				Name  string `json:"file"`
				Lines []int  `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"another tag": func() reflect.Type {
			type payload struct {
				File  string `json:"name"`
				Lines []int  `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"another type": func() reflect.Type {
			type payload struct {
				File  []byte `json:"file"`
				Lines []int  `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"other elements of a slice": func() reflect.Type {
			type payload struct {
				File  string  `json:"file"`
				Lines []int64 `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"an array in place of a slice": func() reflect.Type {
			type payload struct {
				File  string `json:"file"`
				Lines [2]int `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"a longer array": func() reflect.Type {
			type payload struct {
				File  string `json:"file"`
				Lines [3]int `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"keys of a map": func() reflect.Type {
			type payload struct {
				File  string         `json:"file"`
				Lines map[string]int `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"other keys of a map": func() reflect.Type {
			type payload struct {
				File  string      `json:"file"`
				Lines map[int]int `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"a pointer": func() reflect.Type {
			type payload struct {
				File  *string `json:"file"`
				Lines []int   `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"an added field": func() reflect.Type {
			type payload struct {
				File  string `json:"file"`
				Lines []int  `json:"lines"`
				Near  struct{ Line int }
				Why   string
			}
			return reflect.TypeFor[payload]()
		}(),
		"a field added deeper": func() reflect.Type {
			type payload struct {
				File  string `json:"file"`
				Lines []int  `json:"lines"`
				Near  struct{ Line, Column int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"a removed field": func() reflect.Type {
			type payload struct {
				File  string `json:"file"`
				Lines []int  `json:"lines"`
			}
			return reflect.TypeFor[payload]()
		}(),
		"another name": func() reflect.Type {
			type content struct {
				File  string `json:"file"`
				Lines []int  `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[content]()
		}(),
		"a type within itself": func() reflect.Type {
			type payload struct {
				File  string    `json:"file"`
				Lines []payload `json:"lines"`
				Near  struct{ Line int }
			}
			return reflect.TypeFor[payload]()
		}(),
		"no type": nil,
	} {
		got := sum(of)
		if other, ok := seen[got]; ok {
			t.Errorf("with the change %q a type has the hash of the change %q", change, other)
		}
		seen[got] = change
	}
}

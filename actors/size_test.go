package actors

import (
	"testing"
	"unsafe"
)

// Each agent of a node has a cell and a mailbox, which fit the sizes of allocations.
func TestSizeOfAnAgent(t *testing.T) {
	if cell, box := unsafe.Sizeof(cell{}), unsafe.Sizeof(Mailbox{}); cell > 384 || box > 128 {
		t.Errorf("a cell has %d bytes, want 384; a mailbox %d, want 128", cell, box)
	}
}

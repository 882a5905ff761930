package actors

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ribosome-agents/ribosome/performatives"
)

// roster is a set of cells in the order of their folded ids, of which no two are alike. It
// is in chunks, so that to put one in moves few others, however many there are.
type roster struct{ chunks [][]*cell }

// rosterChunk is the most cells of a chunk.
const rosterChunk = 512

// find returns where the cell with that folded id is, or where it belongs.
func (r *roster) find(id performatives.AgentID) (chunk, at int, there bool) {
	chunk = sort.Search(len(r.chunks), func(i int) bool {
		of := r.chunks[i]
		return of[len(of)-1].folded >= id
	})
	if chunk == len(r.chunks) {
		return chunk, 0, false
	}
	at, there = slices.BinarySearchFunc(r.chunks[chunk], id, func(c *cell, id performatives.AgentID) int {
		return cmp.Compare(c.folded, id)
	})
	return chunk, at, there
}

// put puts a cell in, unless it is there.
func (r *roster) put(c *cell) {
	i, at, there := r.find(c.folded)
	switch {
	case there:
		return
	case len(r.chunks) == 0:
		r.chunks = [][]*cell{{c}}
		return
	case i == len(r.chunks): // after all others
		i--
		at = len(r.chunks[i])
	}
	of := slices.Insert(r.chunks[i], at, c)
	r.chunks[i] = of
	if len(of) > rosterChunk {
		upper := slices.Clone(of[rosterChunk/2:])
		r.chunks[i] = slices.Delete(of, rosterChunk/2, len(of))
		r.chunks = slices.Insert(r.chunks, i+1, upper)
	}
}

// drop takes a cell out, if it is there.
func (r *roster) drop(c *cell) {
	i, at, there := r.find(c.folded)
	if !there {
		return
	}
	r.chunks[i] = slices.Delete(r.chunks[i], at, at+1)
	if len(r.chunks[i]) == 0 {
		r.chunks = slices.Delete(r.chunks, i, i+1)
	}
}

// page appends to dst the cells from a folded id on, as many as it has room for.
func (r *roster) page(dst []*cell, from performatives.AgentID) []*cell {
	i, at, _ := r.find(from)
	for ; i < len(r.chunks) && len(dst) < cap(dst); i, at = i+1, 0 {
		of := r.chunks[i][at:]
		dst = append(dst, of[:min(len(of), cap(dst)-len(dst))]...)
	}
	return dst
}

package protofield

import "google.golang.org/protobuf/encoding/protowire"

// AppendText appends a field that has a length, unless it is empty.
func AppendText[T ~string | ~[]byte](out []byte, num protowire.Number, text T) []byte {
	if len(text) == 0 {
		return out
	}
	return append(appendHead(out, num, len(text)), text...)
}

// appendHead appends the tag of a field that has a length, and the length.
func appendHead(out []byte, num protowire.Number, length int) []byte {
	if num < 1<<4 && length < 1<<7 {
		return append(out, byte(num)<<3|byte(protowire.BytesType), byte(length))
	}
	return protowire.AppendVarint(protowire.AppendTag(out, num, protowire.BytesType), uint64(length))
}

// AppendNumber appends a varint, unless it is zero.
func AppendNumber(out []byte, num protowire.Number, n uint64) []byte {
	if n == 0 {
		return out
	}
	return protowire.AppendVarint(protowire.AppendTag(out, num, protowire.VarintType), n)
}

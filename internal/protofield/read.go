package protofield

import "google.golang.org/protobuf/encoding/protowire"

// Each calls f with each field, as [Next] reads it, and reports whether data is well-formed.
func Each(data []byte, f func(num protowire.Number, text []byte, n uint64)) bool {
	for len(data) > 0 {
		num, text, n, size := Next(data)
		if size < 0 {
			return false
		}
		f(num, text, n)
		data = data[size:]
	}
	return true
}

// Next reads the first field of data, which has at least one byte. size is the length of
// the field with its tag, and negative for malformed protobuf. text is the content of a field
// that has a length, else nil; n is that of a varint. num is 0 for a field of another type.
//
// The first lines read the usual form: a field number below 16, and a length or a varint of at most
// two bytes.
func Next(data []byte) (num protowire.Number, text []byte, n uint64, size int) {
	if len(data) < 3 || data[0] < 1<<3 || data[0] >= 1<<7 {
		return anyField(data)
	}
	num = protowire.Number(data[0] >> 3)
	begin, length := 2, int(data[1])
	if length >= 1<<7 {
		if data[2] >= 1<<7 {
			return anyField(data)
		}
		begin, length = 3, length&(1<<7-1)|int(data[2])<<7
	}
	switch {
	case protowire.Type(data[0]&7) == protowire.BytesType && length <= len(data)-begin:
		return num, data[begin : begin+length], 0, begin + length
	case protowire.Type(data[0]&7) == protowire.VarintType:
		return num, nil, uint64(length), begin
	}
	return anyField(data)
}

// anyField is [Next] for a field of any form.
func anyField(data []byte) (num protowire.Number, text []byte, n uint64, size int) {
	num, typ, tag := protowire.ConsumeTag(data) // it takes numbers that protobuf does not allow
	if tag < 0 || num > protowire.MaxValidNumber {
		return 0, nil, 0, min(tag, -1)
	}
	switch typ { // ribosome.proto has fields of the first two types only
	case protowire.BytesType:
		text, size = protowire.ConsumeBytes(data[tag:])
	case protowire.VarintType:
		n, size = protowire.ConsumeVarint(data[tag:])
	default:
		size = protowire.ConsumeFieldValue(num, typ, data[tag:])
		num = 0
	}
	if size < 0 {
		return 0, nil, 0, size
	}
	return num, text, n, tag + size
}

package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
	"testing"
)

// smaller returns a picture with its 256 most frequent colours, which is a third of the size.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[color.NRGBA]int)
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			count[color.NRGBAModel.Convert(full.At(x, y)).(color.NRGBA)]++
		}
	}
	var colours color.Palette
	for _, c := range slices.SortedFunc(maps.Keys(count), func(a, b color.NRGBA) int { return cmp.Compare(count[b], count[a]) }) {
		if len(colours) < 256 {
			colours = append(colours, c)
		}
	}
	reduced := image.NewPaletted(full.Bounds(), colours)
	draw.Draw(reduced, full.Bounds(), full, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

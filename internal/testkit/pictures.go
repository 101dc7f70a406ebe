package testkit

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

var numberInPicture = regexp.MustCompile(`-?\d+(\.\d+)?`)

// SamePicture fails the test unless the SVG in a file is the one that was drawn: with the same
// words and forms, and with coordinates that differ by less than a hundredth of a point, which is
// all that another processor changes. With update it writes the file.
func SamePicture(t testing.TB, path string, drawn []byte, update bool) {
	t.Helper()
	if update {
		OK(t, os.WriteFile(path, drawn, 0o666))
	}
	shown := Read(t, path)
	forms := func(svg []byte) string { return string(numberInPicture.ReplaceAll(svg, []byte("#"))) }
	numbers, others := numberInPicture.FindAll(drawn, -1), numberInPicture.FindAll(shown, -1)
	same := len(numbers) == len(others) && forms(drawn) == forms(shown)
	for i := 0; same && i < len(numbers); i++ {
		a, err := strconv.ParseFloat(string(numbers[i]), 64)
		OK(t, err)
		b, err := strconv.ParseFloat(string(others[i]), 64)
		OK(t, err)
		same = math.Abs(a-b) < 0.01
	}
	if !same {
		t.Errorf("%s is not what is drawn; run this test with -update", path)
	}
}

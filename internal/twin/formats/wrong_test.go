package formats_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/llmsim/llmsim/internal/twin/formats"
)

// goodCSV has requests as a client writes them, at a rate a second.
func goodCSV(rate float64) string {
	var b strings.Builder
	b.WriteString("arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2el_ms\n")
	for k := range 60 {
		fmt.Fprintf(&b, "%.4f,%d,40,%.3f,8.5,%.3f\n", float64(k)/rate, 300+7*k,
			40+float64(k%9), 371.5+float64(k%9))
	}
	return b.String()
}

// A file that is not what its reader takes it for is refused in words that say what to mend, or
// read as it was meant; a load that says little is noted.
func TestWrongFilesAreNamed(t *testing.T) {
	good := goodCSV(8)
	head, rows, _ := strings.Cut(good, "\n")
	const times = "ttft_ms,tpot_ms,e2el_ms"
	replaced := func(old, by string) string { return strings.ReplaceAll(good, old, by) }
	wide := "\xff\xfe"
	for _, u := range utf16.Encode([]rune(good)) {
		wide += string([]byte{byte(u), byte(u >> 8)})
	}
	for name, c := range map[string]struct{ text, want string }{
		"good":              {good, ""},
		"a byte order mark": {"\ufeff" + good, ""},
		"lines of Windows":  {replaced("\n", "\r\n"), ""},
		"semicolons":        {replaced(",", ";"), ""},
		"tabs":              {replaced(",", "\t"), ""},
		"units in names": {replaced(head, "Arrival (s),Prompt tokens,Output tokens,"+
			"TTFT (ms),TPOT (ms),E2E (ms)"), ""},
		"decimal commas": {strings.ReplaceAll(replaced(",", ";"), ".", ","),
			`line 2: arrival_s: found "0,0000"`},
		"UTF-16":         {wide, "found text in UTF-16, want UTF-8"},
		"nothing":        {"\n", "found an empty file"},
		"no rows":        {head + "\n", "no row below them"},
		"other columns":  {replaced(head, "a,b,c,d,e,f"), "found the columns"},
		"a copy":         {good + rows, "found 60 requests twice"},
		"arrivals in ms": {goodCSV(0.008), "is the unit of the arrivals another one?"},
		"seconds as ms": {replaced(times, "ttft_us,tpot_us,e2el_us"),
			"are the columns of times in another unit"},
		"E2E for TTFT": {replaced(times, "e2el_ms,tpot_ms,ttft_ms"),
			"the first token comes"},
		"a row cut off":    {good[:len(good)-30], "line 61: prompt_tokens: found no value"},
		"a word":           {replaced("8.5,", "8.5,n/a"), `line 2: e2el_ms: found "n/a`},
		"negative latency": {replaced(",40,40.000,", ",40,-1,"), `ttft_ms: found "-1"`},
		"no output tokens": {replaced(",40,4", ",0,4"), "ended without a token"},
	} {
		got, err := formats.Parse("wrong.csv", []byte(c.text), formats.Options{})
		said := fmt.Sprint(err)
		if err == nil {
			said = strings.Join(got.Sources[0].Notes, "\n")
			if n := len(got.Runs[0].Requests); n != 60 {
				t.Errorf("%s: %d requests", name, n)
			}
		}
		if c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s: said %q, want %q", name, said, c.want)
		}
	}
}

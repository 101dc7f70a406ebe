package formats_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// Wherever a gzip is cut or changed, it is read as it was, or the error names the file, and also
// the line where the gzip itself shows the damage.
func TestDamagedGzipSaysWhere(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	fmt.Fprintln(w, "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s")
	for i := range 40 {
		fmt.Fprintf(w, "%d,%d,30,0.0%d,0.%d\n", i, 1+i*7919%1000, 1+i*31%89, 100+i*37%800)
	}
	testkit.OK(t, w.Close())
	where := regexp.MustCompile(`^a\.csv\.gz: (in the first line|after line \d+): .*gzip`)
	read := func(data []byte) (*observed.Observed, error) {
		o, err := formats.Parse("a.csv.gz", data, formats.Options{})
		if err != nil && (!strings.HasPrefix(err.Error(), "a.csv.gz: ") ||
			strings.Contains(err.Error(), "gzip") && !where.MatchString(err.Error())) {
			t.Errorf("found %v, want the file and the line", err)
		}
		return o, err
	}
	testkit.Changed(t, zipped.Bytes(), read)
	for n := 2; n < zipped.Len(); n++ {
		if _, err := read(zipped.Bytes()[:n]); err == nil || !where.MatchString(err.Error()) {
			t.Errorf("the first %d of %d bytes: %v", n, zipped.Len(), err)
		}
	}
}

// Spans that end before they start, and two spans of one id in a trace, are refused; spans of
// several traces may share an id.
func TestSpansAreOfOneMind(t *testing.T) {
	span := func(trace, id, start, end string) string {
		return fmt.Sprintf(`{"traceId":%q,"spanId":%q,"startTimeUnixNano":%q,`+
			`"endTimeUnixNano":%q,"attributes":[`+
			`{"key":"gen_ai.usage.prompt_tokens","value":{"intValue":"5"}},`+
			`{"key":"gen_ai.usage.completion_tokens","value":{"intValue":"4"}},`+
			`{"key":"gen_ai.latency.time_to_first_token","value":{"doubleValue":0.1}}]}`, trace,
			id, start, end)
	}
	const start, end = "1767225600000000001", "1767225600000000002"
	for _, c := range []struct{ second, want string }{
		{span("a", "2", start, end), ""},
		{span("b", "1", start, end), ""},
		{span("a", "2", start, start), ""},
		{span("a", "2", end, start), "a.json: span 1: endTimeUnixNano: found " + start +
			", allowed: from startTimeUnixNano, " + end},
		{span("a", "1", start, end), `a.json: span 1: spanId: found "1" twice`},
	} {
		text := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + span("a", "1", start, end) + "," +
			c.second + `]}]}]}`
		o, err := formats.Parse("a.json", []byte(text), formats.Options{})
		switch {
		case c.want == "" && (err != nil || len(o.Runs[0].Requests) != 2):
			t.Errorf("%s: %v", c.second, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("found %v, want %s", err, c.want)
		}
	}
}

// A table of requests without the times of their arrivals says so.
func TestRequestsWithoutArrivals(t *testing.T) {
	const rows = ",prompt_tokens,output_tokens,ttft_s,e2e_s\n0,5,4,0.1,0.2\n9,5,4,0.1,0.2\n"
	for column, lacks := range map[string]bool{"arrival_s": false, "sent_s": false,
		"startTime": true} {
		o, err := formats.Parse("a.csv", []byte(column+rows), formats.Options{})
		testkit.OK(t, err)
		if (len(o.Lacks) > 0) != lacks {
			t.Errorf("%s: %q", column, o.Lacks)
		}
	}
	o, err := formats.Parse("a.csv", []byte("step_s,decode_requests,prefill_tokens\n0.1,5,4\n"),
		formats.Options{})
	testkit.OK(t, err)
	if o.Runs[0].Load.Untimed {
		t.Error("steps are said to have no times")
	}
}

// Times that are counted from another moment, before the run or by the calendar, are the same run.
// Cells that are empty are values that are not known.
func TestTimesAreCountedFromTheFirst(t *testing.T) {
	read := func(from float64) observed.Run {
		var text strings.Builder
		fmt.Fprintln(&text, "arrival_s,sent_s,prompt_tokens,output_tokens,first_token_s,"+
			"last_token_s")
		for i := range 20 {
			at := from + float64(i*i)
			fmt.Fprintf(&text, "%f,%f,%d,7,%f,%f\n", at, at+1, 5+i, at+1.5, at+3)
		}
		fmt.Fprintf(&text, "%f,,9,0,,\n", from+400)
		o, err := formats.Parse("a.csv", []byte(text.String()), formats.Options{})
		testkit.OK(t, err)
		r := o.Runs[0]
		for i := range r.Requests { // a float64 holds the calendar's seconds to 0.2 microseconds
			q := &r.Requests[i]
			for _, v := range []*float64{&q.Arrival, &q.Sent, &q.TTFT, &q.E2E} {
				*v = math.Round(*v*1e5) / 1e5
			}
		}
		return r
	}
	want := fmt.Sprint(read(0))
	for _, from := range []float64{-5, -0.25, 1767225600} {
		if got := fmt.Sprint(read(from)); got != want {
			t.Errorf("from %g s on:\n%s, want\n%s", from, got, want)
		}
	}
}

// The prompts of a file's requests are all in its load, with and without answers.
func TestPromptsOfAFileStayInTheLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, want, unanswered := "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n", 0, 0
		for i := range rapid.IntRange(1, 30).Draw(t, "requests") {
			prompt, output := rapid.IntRange(1, 99).Draw(t, "prompt"), i%3
			times := ","
			if output > 0 {
				times = "0.1,0.3"
			} else {
				unanswered++
			}
			text += fmt.Sprintf("%d,%d,%d,%s\n", i, prompt, output, times)
			want += prompt
		}
		o, err := formats.Parse("a.csv", []byte(text), formats.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, says := 0, fmt.Sprintf("%d of %d requests ended without a token", unanswered,
			len(o.Runs[0].Requests))
		for _, q := range o.Runs[0].Requests {
			if !q.Failed {
				got += q.Prompt
			}
		}
		if notes := fmt.Sprint(o.Sources[0].Notes); got != want || !strings.Contains(notes, says) {
			t.Errorf("%d prompt tokens, want %d; notes %q, want %q", got, want, notes, says)
		}
	})
}

package trace

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// drawn writes a random trace in our own format and returns it as read.
func drawn(rt *rapid.T, t *testing.T) (path string, all []sim.Request) {
	var text strings.Builder
	text.WriteString("arrival_s,prompt_tokens,output_tokens,prefix,prefix_tokens\n")
	at := int64(0)
	for range rapid.IntRange(1, 40).Draw(rt, "rows") {
		at += rapid.Int64Range(0, 5e11).Draw(rt, "gap")
		prompt := rapid.IntRange(1, 3000).Draw(rt, "prompt")
		fmt.Fprintf(&text, "%d.%011d,%d,%d,1,%d\n", at/1e11, at%1e11, prompt,
			rapid.IntRange(1, 500).Draw(rt, "output"),
			rapid.IntRange(0, prompt).Draw(rt, "prefix"))
	}
	path = save(t, []byte(text.String()))
	all, _ = mustRead(t, path, Options{})
	return path, all
}

// Doubling the rate halves every time, and any speed divides exactly, rounded down.
func TestSpeedDividesTimesExactly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path, all := drawn(rt, t)
		speed := rapid.OneOf(rapid.SampledFrom([]float64{2, 0.5, 1, 10, 1e-4, 1e6}),
			rapid.Float64Range(1e-3, 1e3)).Draw(rt, "speed")
		fast, _ := mustRead(t, path, Options{Speed: speed})
		for i, q := range all {
			exact := new(big.Rat).SetFloat64(speed)
			exact.Quo(new(big.Rat).SetInt64(int64(q.Arrival)), exact)
			want := new(big.Int).Quo(exact.Num(), exact.Denom()).Int64()
			if fast[i].Arrival != sim.Time(want) {
				rt.Fatalf("at speed %v, %d ticks became %d, want %d", speed, q.Arrival,
					fast[i].Arrival, want)
			}
		}
	})
}

func TestSlowerSaturates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := sim.Time(rapid.Int64Range(0, math.MaxInt64).Draw(t, "time"))
		speed := rapid.Float64Range(1e-6, 1e6).Draw(t, "speed")
		got := slower(at, speed)
		if want := float64(at) / speed; want < 9e18 && math.Abs(float64(got)-want) > 1+want*1e-15 ||
			want > 9.3e18 && got != sim.Never {
			t.Fatalf("%d ticks at speed %v became %d, want about %g", at, speed, got, want)
		}
	})
}

// Two slices that meet hold together what the whole holds, each counted from its own start.
func TestSlicesConserve(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path, all := drawn(rt, t)
		last := all[len(all)-1].Arrival
		cut := sim.Time(rapid.Int64Range(1, int64(last)+2).Draw(rt, "cut"))
		var parts []sim.Request
		for _, o := range []Options{{For: cut}, {From: cut}} {
			part, counts, err := read(path, o)
			if err != nil && counts.Requests > 0 {
				rt.Fatal(err)
			}
			for _, q := range part {
				q.Arrival += o.From
				parts = append(parts, q)
			}
		}
		if diff := cmp.Diff(all, parts); diff != "" {
			rt.Fatalf("slices at %v differ from the whole (-whole +slices):\n%s", cut, diff)
		}
	})
}

// Whatever does not fit into the context is dropped, or clamped so that it fits with at least one
// token of each; nothing else changes.
func TestContextIsRespected(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path, all := drawn(rt, t)
		most := rapid.IntRange(2, 4000).Draw(rt, "context")
		dropped, counts, err := read(path, Options{MaxContext: most})
		want := slices.DeleteFunc(slices.Clone(all), func(q sim.Request) bool {
			return q.Prompt+q.Output > most
		})
		if (err != nil) != (len(want) == 0) {
			rt.Fatalf("error %v with %d requests left", err, len(want))
		}
		if diff := cmp.Diff(want, dropped); len(want) > 0 && diff != "" {
			rt.Fatalf("dropping differs (-want +got):\n%s", diff)
		}
		if counts.Dropped != int64(len(all)-len(want)) {
			rt.Fatalf("%d dropped, want %d", counts.Dropped, len(all)-len(want))
		}
		clamped, counts := mustRead(t, path, Options{MaxContext: most, Overlong: Clamp})
		if counts.Clamped != int64(len(all)-len(want)) || len(clamped) != len(all) {
			rt.Fatalf("%d clamped of %d, want %d of %d", counts.Clamped, len(clamped),
				len(all)-len(want), len(all))
		}
		for i, q := range clamped {
			shared := 0
			for _, s := range q.Content {
				shared += s.Tokens
				if s.Tokens < 1 {
					rt.Fatalf("an empty segment in %+v", q)
				}
			}
			if q.Prompt < 1 || q.Output < 1 || q.Prompt+q.Output > most && all[i].Prompt+
				all[i].Output > most || shared > q.Prompt {
				rt.Fatalf("%+v became %+v in a context of %d", all[i], q, most)
			}
		}
	})
}

func TestErrorsNameFileLineAndField(t *testing.T) {
	const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n"
	const burstgpt = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
	const own = "arrival_s,prompt_tokens,output_tokens,class,priority,deadline_s,session,prefix," +
		"prefix_tokens\n"
	const mooncake = `{"timestamp": 5, "input_length": 600, "output_length": 9, "hash_ids": [1, 2]}` + "\n"
	for text, want := range map[string]string{
		"":                 "the file is empty",
		" \n\n":            "the file is empty",
		"hello,world\n1,2": `no known trace format in its first line "hello,world", allowed: ` + strings.Join(Formats(), ", "),
		"TIMESTAMP,ContextTokens,GeneratedTokens\n": "the trace holds no requests",

		azure + "2023-11-16 18:15:47,12\n":               ":3: found 2 fields, allowed: 3",
		azure + "yesterday,12,5\n":                       `:3: TIMESTAMP: found "yesterday", allowed: times like 2023`,
		azure + "2023-02-30 18:15:47,12,5\n":             `:3: TIMESTAMP: found "2023-02-30 18:15:47"`,
		azure + "2023-11-16 18:15:47.5+1,12,5\n":         ":3: TIMESTAMP: found",
		azure + "2023-11-16 18:15:47+24:00,12,5\n":       ":3: TIMESTAMP: found",
		azure + "2023-11-16 18:15:47-05:60,12,5\n":       ":3: TIMESTAMP: found",
		azure + "2023-11-16 18:15:47,-3,5\n":             `:3: ContextTokens: found "-3", allowed: whole numbers from 0`,
		azure + "2023-11-16 18:15:47,12,NaN\n":           `:3: GeneratedTokens: found "NaN"`,
		azure + "2023-11-16 18:15:47,12,9999999999999\n": `:3: GeneratedTokens: found "9999999999999", allowed: whole numbers from 0 to 1073741824`,
		azure + "\n2023-11-16 18:15:46,12,5\n":           ":4: found a row 680ms before",
		azure + "2026-11-16 18:15:46,12,5\n": ":3: TIMESTAMP: found a time 1096 days " +
			"from the start, allowed: up to 1067 days",

		own + "-1,5,5,,,,,,\n":        `:2: arrival_s: found "-1", allowed: seconds from 0`,
		own + "NaN,5,5,,,,,,\n":       `:2: arrival_s: found "NaN"`,
		own + "1,5,5,vip,,,,,\n":      `:2: class: found "vip", allowed: batch, chat`,
		own + "1,5,5,chat,high,,,,\n": `:2: priority: found "high"`,
		own + "1,5,5,chat,,soon,,,\n": `:2: deadline_s: found "soon"`,
		own + "1,5,5,chat,,1e9,,,\n":  ":2: deadline_s: found a time 11574 days",
		own + "1,5,5,chat,,,-4,,\n":   `:2: session: found "-4"`,
		own + "1,5,5,chat,,,,x,4\n":   `:2: prefix: found "x"`,
		own + "1,5,5,chat,,,,1,6\n":   ":2: prefix_tokens: found 6, allowed: at most the 5",

		mooncake + `{"timestamp": 5, "input_length": 600, "output`:        ":2: not valid JSON",
		mooncake + `{"timestamp": "5", "input_length": 6}`:                ":2: timestamp: found a JSON string, allowed: numbers",
		mooncake + `{"timestamp": 5, "input_length": 6.5}`:                ":2: input_length: found a JSON number 6.5, allowed: whole numbers",
		mooncake + `{"timestamp": 5, "input_length": 600, "hash_ids": 4}`: ":2: hash_ids: found a JSON number, allowed: lists",
		mooncake + `[1, 2]`: ":2: row: found a JSON array, allowed: objects",
		mooncake + `{"session_id": "a", "delay": 5, "input_length": 600, "output_length": 9}`:      ":2: delay: found in the first row of the session \"a\"",
		mooncake + `{"input_length": 600, "output_length": 9}`:                                     ":2: timestamp: found none",
		mooncake + `{"timestamp": 5, "output_length": 9}`:                                          ":2: input_length: found none",
		mooncake + `{"timestamp": 5, "input_length": 600}`:                                         ":2: output_length: found none",
		mooncake + `{"timestamp": 4, "input_length": 6, "output_length": 9}`:                       ":2: found a row 1ms before",
		mooncake + `{"timestamp": 9, "input_length": 512, "output_length": 9, "hash_ids": [1, 2]}`: ":2: hash_ids: found 2, allowed: at most one for each 512 of the 512",

		`[{"prompt_len": 3, "output_len": 4},` + "\n" +
			`{"prompt_len": 3}]`: ":2: entry 2: found no output_len, allowed: one of output_len, " +
			"output_tokens",
		`[{"prompt_len": -3, "output_len": 4}]`: ":1: entry 1: prompt length: found -3, " +
			"allowed: whole numbers from 0",
		`[{"prompt_len": null, "output_len": 4}]`: ":1: entry 1: prompt length: found null",
		`[[1, 2, 3]]`:        ":1: entry 1: found a list of 3, allowed: pairs",
		`[[1, 2], 7]`:        ":1: entry 2: found neither an object nor a pair",
		"[[1, 2],\n[3, 4]\n": "not valid JSON: the file is cut short",
		`[]`:                 "the trace holds no requests",
		`[{"conversations": [{"value": "hi"}]}]`: "conversations: found 1 messages, allowed: " +
			"lists of at least 2",
		`[{"conversations": [{"tokens": 3}, {"a":1}]}]`: `found a message without "tokens"`,
		`[{"prompt_len": 3, "output_len": 4, "total_tokens": 8}]`: ":1: entry 1: total_tokens: " +
			"found 8, allowed: 7, the sum",
		burstgpt + "1,GPT-4,90,15,106,API log\n": ":2: Total tokens: found 106, allowed: 105, " +
			"the sum of Request tokens and Response tokens",
	} {
		_, _, err := read(save(t, []byte(text)), Options{Classes: []string{"batch", "chat"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	path := filepath.Join("testdata", "azure2023.csv")
	for want, o := range map[string]Options{
		`trace format: found "azur", allowed: ` + Formats()[0]: {Format: "azur"},
		"burstgpt: found the columns":                          {Format: "burstgpt"},
		"trace speed: found -1, allowed":                       {Speed: -1},
		"trace speed: found NaN":                               {Speed: math.NaN()},
		"trace slice: from: found -1":                          {From: -sim.Second},
		"trace slice: length: found -1":                        {For: -sim.Second},
		"longest context: found 1":                             {MaxContext: 1},
		"no request is left of the 4 rows read: 4 outside the slice": {
			From: 7200 * sim.Second},
		"no request is left of the 4 rows read: 4 longer than the context o": {MaxContext: 2},
	} {
		if _, _, err := read(path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q", o, err, want)
		}
	}
	if _, err := Open(filepath.Join("testdata", "sharegpt.json"),
		Options{From: sim.Second}); err == nil {
		t.Error("lengths without times were sliced by time")
	}
	if _, err := Open(filepath.Join("testdata", "none.csv"), Options{}); !os.IsNotExist(err) {
		t.Errorf("a missing file gives %v", err)
	}
	if _, err := Open("testdata", Options{}); err == nil {
		t.Error("a folder was opened as a trace")
	}
}

// Times under a key that no format reads are not left aside, unless the format without times is
// named.
func TestTimesUnderUnknownKeysAreRefused(t *testing.T) {
	for _, key := range []string{"startTime", "start_time", "endTime", "timestamp", "Timestamp",
		"created_at", "created", "arrival_ms", "arrived", "date", "ts", "t", "request_timestamp"} {
		path := save(t, []byte(`{"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "`+
			key+`": 1767225600}`))
		want := fmt.Sprintf(":1: entry 1: found the key %q, which looks like a time", key)
		if _, _, err := read(path, Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want %s", err, want)
		}
		list, _, err := read(path, Options{Format: "sharegpt"})
		if err != nil || len(list) != 1 || list[0].Prompt != 3 || list[0].Output != 4 {
			t.Errorf("%s: read as %v: %v", key, list, err)
		}
	}
}

// A gzip that is cut short or damaged is an error wherever the damage is, never a shorter trace.
func TestDamagedGzip(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "mooncake.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	whole := zip(t, data)
	for n := range len(whole) {
		if _, _, err := read(save(t, whole[:n]), Options{}); err == nil {
			t.Errorf("the first %d of %d bytes were read as a whole trace", n, len(whole))
		}
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-6] ^= 1
	if _, _, err := read(save(t, damaged), Options{}); err == nil ||
		!strings.Contains(err.Error(), "checksum") {
		t.Errorf("a wrong checksum gives %v", err)
	}
}

// An error is final.
func TestErrorsStay(t *testing.T) {
	r, err := Open(save(t, []byte("arrival_s,prompt_tokens,output_tokens\nx,1,1\n1,1,1\n")),
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var q sim.Request
	first := r.Read(&q)
	if second := r.Read(&q); first == nil || second != first {
		t.Errorf("first %v, then %v", first, second)
	}
}

// Whatever a file holds, reading it ends, and what is delivered obeys the contract.
func FuzzRead(f *testing.F) {
	for name := range samples() {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "", 1.0)
		f.Add(zip(f, data), "", 2.0)
		for _, format := range Formats() {
			f.Add(data, format, 0.5)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format string, speed float64) {
		path := save(t, data)
		var (
			list   []sim.Request
			counts Counts
			err    error
		)
		// a gzip file may unpack to a thousand times its size
		testkit.Bounded(t, 1000*len(data), func() {
			list, counts, err = read(path, Options{Format: format, Speed: speed, MaxContext: 5000,
				Overlong: Clamp})
		})
		last := sim.Time(0)
		for _, q := range list {
			shared := 0
			for _, s := range q.Content {
				if s.Tokens < 1 {
					t.Errorf("an empty segment in %+v", q)
				}
				shared += s.Tokens
			}
			if q.Arrival < last || q.Arrival == sim.Never || q.Prompt < 1 || q.Output < 1 ||
				q.Prompt+q.Output > 5000 ||
				shared > q.Prompt || q.Class != 0 || q.Tenant < 0 || q.Deadline < 0 ||
				q.Session < 0 {
				t.Errorf("after %v: %+v", last, q)
			}
			last = q.Arrival
		}
		if err == nil && (len(list) == 0 || counts.Requests != int64(len(list)) ||
			counts.Rows != counts.Requests+counts.Failed+counts.Dropped+counts.Outside) {
			t.Errorf("%d requests, counts %+v", len(list), counts)
		}
	})
}

// rows writes a long trace of a format.
func rows(format string, n int) []byte {
	var b bytes.Buffer
	if format == "azure" {
		b.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	} else if format == "burstgpt" {
		b.WriteString("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n")
	}
	for i := range n {
		switch format {
		case "azure":
			fmt.Fprintf(&b, "2024-05-10 %02d:%02d:%02d.%06d+00:00,%d,%d\n", i/3600%24, i/60%60,
				i%60, i%1e6, 100+i%3000, 1+i%400)
		case "burstgpt":
			fmt.Fprintf(&b, "%d,ChatGPT,%d,%d,%d,Conversation log\n", i, 100+i%3000, 1+i%400,
				100+i%3000+1+i%400)
		case "mooncake":
			fmt.Fprintf(&b, "{\"timestamp\": %d, \"input_length\": 6758, \"output_length\": 500, "+
				"\"hash_ids\": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]}\n", i)
		}
	}
	return b.Bytes()
}

// CSV rows cost no allocation each.
func TestReadAllocatesNothing(t *testing.T) {
	for _, format := range []string{"azure", "burstgpt"} {
		r, err := Open(save(t, rows(format, 20_000)), Options{Speed: 2})
		if err != nil {
			t.Fatal(err)
		}
		var q sim.Request
		if got := testing.AllocsPerRun(10_000, func() {
			if err := r.Read(&q); err != nil {
				t.Fatal(err)
			}
		}); got != 0 {
			t.Errorf("%s: %g allocations a row", format, got)
		}
		r.Close()
	}
}

func BenchmarkRead(b *testing.B) {
	for _, format := range []string{"azure", "burstgpt", "mooncake"} {
		b.Run(format, func(b *testing.B) {
			const n = 80_000
			data := rows(format, n)
			path := save(b, data)
			b.SetBytes(int64(len(data)) / n)
			b.ReportAllocs()
			b.ResetTimer()
			var q sim.Request
			for done := 0; done < b.N; {
				r, err := Open(path, Options{})
				if err != nil {
					b.Fatal(err)
				}
				for done < b.N {
					if err := r.Read(&q); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
					done++
				}
				r.Close()
			}
		})
	}
}

package trace

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// readText reads a trace that is given as a text, with the later turns of its sessions.
func readText(text string, o Options) (list []sim.Request, later [][]Turn, err error) {
	o.FS = fstest.MapFS{"t": {Data: []byte(text)}}
	r, err := Open("t", o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		var q sim.Request
		if err := r.Read(&q); err != nil {
			if r.Counts().Requests == int64(len(list)) && err.Error() == "EOF" {
				err = nil
			}
			return list, later, err
		}
		list, later = append(list, q), append(later, slices.Clone(r.Turns()))
	}
}

// A date and time of day is read as package time reads it, and refused where that refuses it.
func TestDatesAreReadAsTimeReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := func(name string, low, high int) int { // also just outside of what there is
			return rapid.OneOf(rapid.SampledFrom([]int{low - 1, low, high, high + 1}),
				rapid.IntRange(low, high)).Draw(t, name)
		}
		year, month, day := near("year", 1, 9998), near("month", 1, 12), near("day", 1, 31)
		hour, minute, second := near("hour", 0, 23), near("minute", 0, 59), near("second", 0, 59)
		text := fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", year, month, day, max(hour, 0),
			max(minute, 0), max(second, 0))
		form := "2006-01-02 15:04:05"
		if digits := rapid.IntRange(0, 9).Draw(t, "digits"); digits > 0 {
			text += "." + rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), digits, digits,
				-1).Draw(t, "fraction")
		}
		switch rapid.IntRange(0, 2).Draw(t, "zone") {
		case 1:
			text, form = text+"Z", form+"Z07:00"
		case 2:
			form += "-07:00"
			text += fmt.Sprintf("%s%02d:%02d", rapid.SampledFrom([]string{"+", "-"}).Draw(t,
				"side"), rapid.IntRange(0, 23).Draw(t, "hours"),
				rapid.IntRange(0, 59).Draw(t, "minutes"))
		}
		if rapid.Bool().Draw(t, "T") {
			text, form = text[:10]+"T"+text[11:], form[:10]+"T"+form[11:]
		}
		want, wrong := time.Parse(form, text)
		got, err := parseDate([]byte(text))
		if (err == nil) != (wrong == nil) || err == nil && (got.seconds != want.Unix() ||
			got.ticks != int64(want.Nanosecond())*int64(sim.Nanosecond)) {
			t.Fatalf("%q: %+v, %v, want %v, %v", text, got, err, want, wrong)
		}
	})
	for year, want := range map[int]bool{1969: false, 1970: true, 2200: true, 2201: false} {
		if _, err := otelTime(fmt.Sprintf("%d-12-31T23:59:59", year)); (err == nil) != want {
			t.Errorf("a span of %d: %v", year, err)
		}
	}
	for text, want := range map[string]bool{"+23:59": true, "-23:59": true, "+24:00": false,
		"+00:60": false, "Z": true, "": true, "z": false, "+0000": false, "*00:00": false,
		"+00-00": false, "+0x:00": false, "+00:0x": false} {
		if _, ok := zone([]byte(text)); ok != want {
			t.Errorf("zone %q: %t", text, ok)
		}
	}
}

// A span is what lies between two instants, exactly, as far as sim.Time holds it with a second to
// spare on each side; what is longer is refused with its days.
func TestSpansBetweenInstants(t *testing.T) {
	const most = math.MaxInt64/int64(sim.Second) - 1
	rapid.Check(t, func(t *rapid.T) {
		tick := rapid.Int64Range(0, int64(sim.Second)-1)
		origin := instant{rapid.Int64Range(-1e9, 1e9).Draw(t, "origin"), tick.Draw(t, "ticks")}
		seconds := rapid.OneOf(rapid.SampledFrom([]int64{-most - 1, -most, 0, most, most + 1}),
			rapid.Int64Range(-1e9, 1e9)).Draw(t, "seconds")
		at := instant{origin.seconds + seconds, tick.Draw(t, "other ticks")}
		got, err := at.since(origin)
		if inside := max(seconds, -seconds) <= most; (err == nil) != inside {
			t.Fatalf("%+v since %+v: %v", at, origin, err)
		} else if inside && int64(got) !=
			seconds*int64(sim.Second)+at.ticks-origin.ticks {
			t.Fatalf("%+v since %+v: %d", at, origin, got)
		} else if days := fmt.Sprintf("%d days from the start, allowed: up to %d days",
			seconds/(24*3600), most/(24*3600)); !inside && !strings.Contains(err.Error(), days) {
			t.Fatalf("%v, want %q", err, days)
		}
		// A number of units is the same instant however many of them make a second.
		units := rapid.Int64Range(0, 1e12).Draw(t, "units")
		for _, perSecond := range []int64{1, 10, 1000, 1_000_000} {
			got, err := fromNumber(float64(units), perSecond)
			if whole := got.seconds*perSecond + got.ticks/(int64(sim.Second)/perSecond); err !=
				nil || whole != units || got.ticks >= int64(sim.Second) {
				t.Fatalf("%d of %d in a second: %+v, %v", units, perSecond, got, err)
			}
		}
	})
	for x, want := range map[float64]bool{0: true, -1e-9: false, 1e15: false, math.Inf(1): false,
		math.NaN(): false, math.Nextafter(1e15, 0): true} {
		if _, err := fromNumber(x, 1000); (err == nil) != want {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// Sums of counts add each of the numbers.
func TestCountsAddUp(t *testing.T) {
	var a, b Counts
	for i := range reflect.TypeFor[Counts]().NumField() {
		reflect.ValueOf(&a).Elem().Field(i).SetInt(int64(3 + i))
		reflect.ValueOf(&b).Elem().Field(i).SetInt(int64(100 << i))
	}
	sum := a
	sum.Add(b)
	for i := range reflect.TypeFor[Counts]().NumField() {
		if got := reflect.ValueOf(sum).Field(i).Int(); got != int64(3+i+100<<i) {
			t.Errorf("number %d: %d", i, got)
		}
	}
	none := Counts{Rows: 9, Requests: 9, Outside: 9}
	for _, n := range []*int64{&none.Failed, &none.Dropped, &none.Clamped, &none.Raised} {
		if *n = 1; len(none.Warnings()) != 1 {
			t.Errorf("one row: %q", none.Warnings())
		}
		*n = 0
	}
}

// A table reads the same whatever blanks and quotes are around its fields, in which order its
// columns are, and whatever columns are beside them.
func TestTablesInOtherForms(t *testing.T) {
	names := []string{"azure2023.csv", "azure2024.csv", "burstgpt.csv", "llmsim.csv",
		"tracelab.csv"}
	o := Options{Classes: []string{"batch", "chat"}}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "file")
		text := string(testkit.Read(t, filepath.Join("testdata", name)))
		want, turns, err := readText(text, o)
		testkit.OK(rt, err)
		table := csv.NewReader(strings.NewReader(text))
		table.TrimLeadingSpace = true
		lines, err := table.ReadAll()
		testkit.OK(rt, err)
		n := len(lines[0])
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range n + 1 {
				if !yield(i) {
					return
				}
			}
		})).Draw(rt, "order")
		wrap := rapid.SampledFrom([]string{"%s", " %s", "%s\t", `"%s"`, ` "%s" `})
		var other strings.Builder
		for i, fields := range lines {
			fields = append(fields, "what, else")
			if i == 0 {
				fields[n] = "unknown"
			}
			for place, k := range order {
				if place > 0 {
					other.WriteByte(',')
				}
				field, form := strings.TrimSpace(fields[k]), wrap.Draw(rt, "form")
				if strings.Contains(field, ",") {
					form = `"%s"`
				}
				fmt.Fprintf(&other, form, field)
			}
			other.WriteByte('\n')
		}
		got, later, err := readText(other.String(), o)
		if diff := gocmp.Diff(want, got); diff != "" || err != nil ||
			!reflect.DeepEqual(turns, later) {
			rt.Fatalf("%s\n%v (-before +other):\n%s", other.String(), err, diff)
		}
	})
}

// Objects read the same on one line each and over many lines.
func TestObjectsOverManyLines(t *testing.T) {
	for _, name := range []string{"weka.jsonl", "otel.json", "sharegpt.json", "rounds"} {
		text := roundRow("a", 100, 60, 20, "") + "\n" + roundRow("a", 130, 110, 10, "")
		if name != "rounds" {
			text = string(testkit.Read(t, filepath.Join("testdata", name)))
		}
		want, turns, err := readText(text, Options{})
		testkit.OK(t, err)
		for _, indent := range []string{"", "  "} {
			var other strings.Builder
			for d := json.NewDecoder(strings.NewReader(text)); ; {
				var object json.RawMessage
				if d.Decode(&object) != nil {
					break
				}
				var value any
				testkit.OK(t, json.Unmarshal(object, &value))
				data, err := json.MarshalIndent(value, "", indent)
				testkit.OK(t, err)
				other.Write(append(data, '\n'))
			}
			got, later, err := readText(other.String(), Options{})
			if diff := gocmp.Diff(want, got); diff != "" || err != nil ||
				!reflect.DeepEqual(turns, later) {
				t.Errorf("%s: %v (-before +other):\n%s", name, err, diff)
			}
		}
	}
}

// Each number of each format is taken at its bounds, and refused just outside of them.
func TestNumbersAreTakenUpToTheirBounds(t *testing.T) {
	const tokens = 1 << 30
	const own = "arrival_s,prompt_tokens,output_tokens,tenant,session,prefix,prefix_tokens\n"
	const lab = "session_id,arrival_time,round_idx,prefix_len,input_len,output_len," +
		"tool_wait_after_ms\na,0,"
	const span = `{"spans":[{"start_time":"2026-01-01T00:00:00Z","end_time":` +
		`"2026-01-01T00:00:01Z","attributes":{"gen_ai.input.messages":"[]",`
	for _, c := range []struct {
		text      string // with one number
		low, high int64
	}{
		{own + "0,%d,1,1,1,1,0", 0, tokens}, {own + "0,1,%d,1,1,1,0", 0, tokens},
		{own + "0,1,1,%d,1,1,0", 0, tokens},
		{own + "0,1,1,1,%d,1,0", 0, 999_999_999_999_999},
		{own + "0,1,1,1,1,%d,0", 0, 999_999_999_999_999}, {own + "0,9,1,1,1,1,%d", 0, 9},
		{"Timestamp,Request tokens,Response tokens,Total tokens\n0,1073741824,1073741824,%d",
			2 * tokens, 2 * tokens},
		{lab + "0,0,%d,1,0", 0, tokens}, {lab + "0,0,1,%d,0", 0, tokens},
		{lab + "0,0,1,1,%d", 0, tokens}, {lab + "%d,0,1,1,0", 0, 0},
		{lab + "0,0,5,5,0\na,0,1,10,5,%d,0", 0, tokens - 15},
		{lab + "0,0,5,5,0\na,0,1,%d,5,5,0", 10, 10},
		{`{"timestamp":0,"input_length":%d,"output_length":1}`, 0, tokens},
		{`{"timestamp":0,"input_length":1,"output_length":%d}`, 0, tokens},
		{`{"timestamp":0,"input_length":1,"output_length":1,"block_size":%d}`, 0, tokens},
		{`{"timestamp":0,"input_length":1,"output_length":1,"block_sizes":[%d],"hash_ids":[1]}`, 1,
			tokens},
		{`{"timestamp":0,"input_length":1,"output_length":1,"chat_id":%d,"parent_chat_id":-1}`, 0,
			1e15},
		{`{"newly_append_tokens":null,"input_tokens_total":%d}`, 1, tokens},
		{`{"newly_append_tokens":null,"input_tokens_total":9,"prefix_tokens":%d}`, 0, 9},
		{`{"newly_append_tokens":null,"input_tokens_total":9,"output_tokens":%d}`, 0, tokens},
		{`{"newly_append_tokens":%d,"input_tokens_total":9,"prefix_tokens":4}`, 5, 5},
		{`[[%d, 1]]`, 0, tokens}, {`[[1, %d]]`, 0, tokens},
		{`[{"prompt_len":3,"output_len":4,"total_tokens":%d}]`, 7, 7},
		{`{"block_size":%d,"requests":[{"in":1}]}`, 1, tokens},
		{`{"block_size":1,"requests":[{"in":%d}]}`, 0, tokens},
		{`{"block_size":1,"requests":[{"out":%d}]}`, 0, tokens},
		{`{"block_size":1,"requests":[{"t":%d}]}`, 0, 1e8 - 1},
		{`{"block_size":1,"requests":[{"api_time":%d}]}`, 0, 1e8 - 1},
		{span + `"gen_ai.usage.prompt_tokens":%d}}]}`, 0, tokens},
		{span + `"gen_ai.usage.output_tokens":%d}}]}`, 0, tokens},
		{servegenHead + "0,1,1,1,Gamma,%d,9,9,9", 1, 1 << 22},
		{servegenHead + "0,1,1,1,Gamma,9,9,%d,9", 1, 1 << 22},
		{servegenHead + "0,1,1,%d,Gamma,9,9,9,9", 0, 100},
	} {
		for n, want := range map[int64]bool{c.low: true, c.high: true, c.low - 1: false,
			c.high + 1: false} {
			_, _, err := readText(fmt.Sprintf(c.text, n), Options{})
			if (err == nil) != want {
				t.Errorf(c.text+": %v", n, err)
			}
		}
	}
}

// A prompt has the blocks of its hashes, in order and in full but for the last, which ends with it;
// hashes for which no token is left are refused.
func TestBlocksFillThePrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, low, high int) int {
			return rapid.IntRange(low, high).Draw(t, name)
		}
		prompt, size := number("prompt", 1, 2000), number("size", 1, 700)
		hashes, sizes := make([]int, number("hashes", 0, 5)), []int{}
		row := map[string]any{"timestamp": 1, "input_length": prompt, "output_length": 1}
		each := rapid.Bool().Draw(t, "sizes")
		switch {
		case rapid.Bool().Draw(t, "default"):
			size = 512
		default:
			row["block_size"] = size
		}
		var want []sim.Segment
		left := prompt
		fits := true
		for i := range hashes {
			hashes[i] = number("hash", 1, 9)
			if each {
				size = number("own size", 1, 700)
			}
			sizes = append(sizes, size)
			fits = fits && left > 0
			want = append(want, block(uint64(hashes[i]), min(left, size)))
			left -= size
		}
		row["hash_ids"] = hashes
		if each {
			row["block_sizes"] = sizes
		}
		if rapid.Bool().Draw(t, "answer") {
			row["answer_id"] = 7
		}
		data, err := json.Marshal(row)
		testkit.OK(t, err)
		list, _, err := readText(string(data), Options{})
		if (err == nil) != fits || fits && !slices.Equal(list[0].Content, want) ||
			fits && (list[0].Answer != 0) != (row["answer_id"] != nil) {
			t.Fatalf("%s: %+v, %v, want %+v", data, list, err, want)
		}
		row["block_sizes"] = append(sizes, 1)
		data, err = json.Marshal(row)
		if testkit.OK(t, err); fits {
			if _, _, err := readText(string(data), Options{}); err == nil {
				t.Fatalf("%s has more sizes than hashes", data)
			}
		}
	})
}

// Turns of Bailian's chats have the session of the turn that they follow, and begin one otherwise.
func TestChatsAreSessions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := map[int]int64{}
		var text strings.Builder
		var want []int64
		for chat := range rapid.IntRange(1, 12).Draw(t, "turns") {
			parent := rapid.IntRange(-1, chat+2).Draw(t, "parent")
			session, known := root[parent]
			if !known {
				session = int64(chat) + 1
			}
			root[chat] = session
			want = append(want, session)
			fmt.Fprintf(&text, `{"timestamp":%d,"input_length":20,"output_length":1,"chat_id":%d,`+
				`"parent_chat_id":%d,"hash_ids":[1,2]}`+"\n", chat, chat, parent)
		}
		list, _, err := readText(text.String(), Options{})
		testkit.OK(t, err)
		for i, r := range list {
			if r.Session != want[i] || r.Arrival != sim.Time(i)*sim.Second ||
				!slices.Equal(r.Content, []sim.Segment{block(1, 16), block(2, 4)}) {
				t.Fatalf("turn %d of\n%s: %+v, want session %d", i, text.String(), r, want[i])
			}
		}
	})
}

// A span of OpenTelemetry follows the spans that had ended when it began, but for such that end
// before another of them begins, and waits since the last of them ended.
func TestSpansFollowWhatHadEnded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type span struct{ from, to int64 } // in nanoseconds
		var spans []span
		var file []string
		for range rapid.IntRange(1, 9).Draw(t, "spans") {
			from := rapid.Int64Range(0, 9).Draw(t, "from")
			to := from + rapid.Int64Range(0, 5).Draw(t, "takes")
			at := func(second int64) string {
				return fmt.Sprintf("2026-02-25T10:00:%02d", second)
			}
			file = append(file, fmt.Sprintf(`{"start_time":%q,"end_time":%q,"attributes":`+
				`{"gen_ai.input.messages":"[]"}}`, at(from), at(to)))
			if from, to = from*1e9, to*1e9; from == to {
				to++
			}
			spans = append(spans, span{from, to})
		}
		slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		list, later, err := readText(`{"spans":[`+strings.Join(file, ",")+"]}", Options{})
		testkit.OK(t, err)
		if len(list) != 1 || len(later[0]) != len(spans)-1 {
			t.Fatalf("%d sessions, %d later calls of %d", len(list), len(later[0]), len(spans))
		}
		for i, s := range spans[1:] {
			var after []int
			since := spans[0].from
			for k, a := range spans {
				if a.to > s.from || slices.ContainsFunc(spans, func(b span) bool {
					return b.to <= s.from && b.from >= a.to
				}) {
					continue
				}
				if after = append(after, k); len(after) == 1 {
					since = a.to
				}
				since = max(since, a.to)
			}
			got := later[0][i]
			if wait := sim.Time(s.from-since) * sim.Nanosecond; !slices.Equal(got.After, after) ||
				got.Wait != wait {
				t.Fatalf("span %d of %v: follows %v after %v, want %v after %v", i+1, spans,
					got.After, got.Wait, after, wait)
			}
		}
	})
}

// The messages of a span have the tokens of its prompt: up to each message, the share that the
// lengths make, rounded down. They have the same name where role and text are the same, and only
// there. Without recorded numbers, four bytes make a token.
func TestMessagesShareTheTokensOfThePrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type message struct {
			Role    string `json:"role"`
			Content string `json:"content,omitempty"`
			Parts   string `json:"parts,omitempty"`
		}
		var list []message
		bytes := []int{}
		all := 0
		for range rapid.IntRange(0, 6).Draw(t, "messages") {
			m := message{rapid.SampledFrom([]string{"user", "tool"}).Draw(t, "role"),
				rapid.StringMatching(`[ab]{0,2}`).Draw(t, "content"),
				rapid.StringMatching(`[ab]{0,2}`).Draw(t, "parts")}
			list = append(list, m)
			n := 0
			for _, text := range []string{m.Content, m.Parts} {
				if text != "" {
					n += len(text) + 2 // the quotes
				}
			}
			bytes = append(bytes, n)
			all += n
		}
		text, err := json.Marshal(list)
		testkit.OK(t, err)
		prompt := rapid.IntRange(0, 300).Draw(t, "prompt")
		key := rapid.SampledFrom([]string{"prompt", "input"}).Draw(t, "key")
		file := fmt.Sprintf(`{"spans":[{"start_time":"2026-02-25T10:00:00Z","end_time":`+
			`"2026-02-25T10:00:01Z","attributes":{"gen_ai.input.messages":%q,`+
			`"gen_ai.usage.%s_tokens":%d,"gen_ai.output.text":"abcdefghijklmn"}}]}`,
			cmp.Or(strings.Replace(string(text), "null", "", 1), "[]"), key, prompt)
		got, _, err := readText(file, Options{})
		testkit.OK(t, err)
		if prompt == 0 {
			prompt = max(1, all/4)
		}
		r := got[0]
		if r.Prompt != prompt || r.Output != 16/4 {
			t.Fatalf("%s\nhas %d tokens and %d out, want %d and 4", file, r.Prompt, r.Output,
				prompt)
		}
		shown, sum, k := 0, 0, 0
		names := map[uint64]message{}
		for i, m := range list {
			shown += bytes[i]
			tokens := shown*prompt/max(all, 1) - sum
			if tokens == 0 {
				continue
			}
			if k == len(r.Content) || r.Content[k].Tokens != tokens {
				t.Fatalf("%+v has no share of %d tokens in %+v", m, tokens, r.Content)
			}
			id := r.Content[k].ID
			for other, is := range names {
				if (is == m) != (other == id) {
					t.Fatalf("%+v is named %d, %+v %d", m, id, is, other)
				}
			}
			names[id] = m
			sum += tokens
			k++
		}
		if k < len(r.Content) || all > 0 && sum != prompt {
			t.Fatalf("%+v of a prompt of %d tokens for %s", r.Content, prompt, text)
		}
	})
}

// A call that TraceLab recorded shares with the session so far as much as was cached and is there;
// its other tokens are new, and it waits from the last event before to its last input.
func TestCallsShareWhatWasCached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type event struct {
			kind   string
			second int
		}
		var rows []string
		var totals, prefixes, outputs []int
		var waits []sim.Time
		var before []event
		for i := range rapid.IntRange(1, 6).Draw(t, "calls") {
			total := rapid.IntRange(1, 90).Draw(t, "total")
			prefix, output := rapid.IntRange(0, total).Draw(t, "prefix"), rapid.IntRange(0,
				30).Draw(t, "output")
			var events []event
			var list []string
			for range rapid.IntRange(0, 3).Draw(t, "events") {
				e := event{rapid.SampledFrom([]string{"user_message", "tool_result", "text"}).Draw(
					t, "event"), rapid.IntRange(0, 59).Draw(t, "second")}
				events = append(events, e)
				list = append(list, fmt.Sprintf(`{"event_type":%q,"timestamp":`+
					`"2026-06-01T05:40:%02dZ"}`, e.kind, e.second))
			}
			end, ready := -1, -1
			for _, e := range before {
				end = max(end, e.second)
			}
			for _, e := range events {
				if e.kind != "text" {
					ready = max(ready, e.second)
				}
			}
			wait := sim.Time(0)
			if i > 0 && end >= 0 && ready > end {
				wait = sim.Time(ready-end) * sim.Second
			}
			before = events
			rows = append(rows, roundRow("a", total, prefix, output, strings.Join(list, ",")))
			totals, prefixes, outputs, waits = append(totals, total), append(prefixes, prefix),
				append(outputs, output), append(waits, wait)
		}
		list, later, err := readText(strings.Join(rows, "\n"), Options{})
		testkit.OK(t, err)
		calls := append([]Turn{{Message: list[0].Prompt, Output: list[0].Output,
			Prompt: list[0].Content, Answer: list[0].Answer}}, later[0]...)
		if len(calls) != len(rows) || len(list) != 1 {
			t.Fatalf("%d calls of %d in %d sessions", len(calls), len(rows), len(list))
		}
		var text []sim.Segment // of the session so far
		for i, c := range calls {
			there, sum, shared := 0, 0, 0
			for _, s := range text {
				there += s.Tokens
			}
			same := true
			for k, s := range c.Prompt {
				sum += s.Tokens
				if same = same && k < len(text) && text[k].ID == s.ID; same {
					shared += s.Tokens
				}
			}
			var after []int
			if i > 0 {
				after = []int{i - 1}
			}
			if sum != totals[i] || c.Message != sum || shared != min(prefixes[i], there) ||
				c.Output != max(1, outputs[i]) || c.Wait != waits[i] ||
				!slices.Equal(c.After, after) {
				t.Fatalf("call %d of\n%s\nis %+v, shares %d of %d, want a wait of %v", i,
					strings.Join(rows, "\n"), c, shared, there, waits[i])
			}
			text = append(slices.Clone(c.Prompt), sim.Segment{ID: c.Answer, Tokens: c.Output})
		}
	})
}

// Each key of a length means the same, a pair too, and a list ends with its bracket.
func TestKeysOfLengths(t *testing.T) {
	for _, in := range promptKeys() {
		for _, out := range outputKeys() {
			text := fmt.Sprintf(`{%q: 3, %q: 4}`, in, out)
			list, _, err := readText(text, Options{})
			if err != nil || len(list) != 1 || list[0].Prompt != 3 || list[0].Output != 4 {
				t.Errorf("%s: %+v, %v", text, list, err)
			}
		}
	}
	for text, want := range map[string]bool{`[[3, 4]]`: true, `[[3, 4]] `: true, `[[3, 4]`: false,
		`[[3, 4]] [`: false, `[[3, 4]] [[5, 6]]`: false, `[[3, 4]]]`: false, `[[3]]`: false,
		`[[3, 4, 5]]`: false, `{"prompt_len": 3}`: false,
		`{"output_len": 4}`: false, `[[3, 4.5]]`: false, `[["3", 4]]`: false,
		`[{"conversations":[{"tokens":3},{"tokens":4}]}]`:              true,
		`[{"conversations":[{"tokens":3},{"tokens":4},{"tokens":5}]}]`: true,
		`[{"conversations":[{"tokens":3}]}]`:                           false} {
		list, _, err := readText(text, Options{})
		if (err == nil) != want || want && (list[0].Prompt != 3 || list[0].Output != 4) {
			t.Errorf("%s: %+v, %v", text, list, err)
		}
	}
}

// A shift is added to all times, and times that count from the first row begin at 0; neither
// changes anything else.
func TestShiftsMoveTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path, all := drawn(rt, t)
		shift := sim.Time(rapid.Int64Range(0, 1e15).Draw(rt, "shift"))
		moved, _ := mustRead(t, path, Options{Shift: shift})
		fromFirst, _ := mustRead(t, path, Options{FromFirst: true})
		cut := all[len(all)/2].Arrival - all[0].Arrival
		late, counts := mustRead(t, path, Options{FromFirst: true, From: cut})
		for i, q := range all {
			if moved[i].Arrival != q.Arrival+shift ||
				fromFirst[i].Arrival != q.Arrival-all[0].Arrival {
				rt.Fatalf("%v became %v and %v", q.Arrival, moved[i].Arrival, fromFirst[i].Arrival)
			}
			if k := i - int(counts.Outside); k >= 0 &&
				late[k].Arrival != fromFirst[i].Arrival-cut {
				rt.Fatalf("%v from %v on became %v", fromFirst[i].Arrival, cut, late[k].Arrival)
			}
			moved[i].Arrival, fromFirst[i].Arrival = q.Arrival, q.Arrival
		}
		if !reflect.DeepEqual(moved, all) || !reflect.DeepEqual(fromFirst, all) {
			rt.Fatal("other fields differ")
		}
	})
	for i, of := range []struct {
		o    Options
		want bool
	}{
		{Options{Speed: 1e-6}, true}, {Options{Speed: 1e6}, true},
		{Options{Speed: math.Nextafter(1e-6, 0)}, false},
		{Options{Speed: math.Nextafter(1e6, 1e7)}, false}, {Options{From: 1}, true},
		{Options{From: sim.Never}, false}, {Options{From: -1}, false}, {Options{For: 1}, true},
		{Options{For: -1}, false}, {Options{Shift: -1}, false}, {Options{Shift: sim.Never}, true},
		{Options{Shift: sim.Never, For: 1}, false}, {Options{Shift: sim.Never - 1, For: 1}, true},
		{Options{MaxContext: 2}, true}, {Options{MaxContext: 1}, false},
		{Options{MaxContext: -1}, false},
	} {
		if err := of.o.check(); (err == nil) != of.want {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

// A client whose lengths have the mean as their median sends nothing but the mean; images count as
// tokens of the prompt; and a median above the mean counts as the mean.
func TestClientsWithoutSpread(t *testing.T) {
	const head = "windows,mean_rate_rps,rate_weighted_cv,text_tokens_mean,text_tokens_p50," +
		"image_tokens_mean,image_tokens_p50,output_tokens_mean,output_tokens_p50\n"
	for _, row := range []string{"1,1,0,30,30,12,12,9,9", "1,1,1,30,30,12,12,9,1000",
		"1,1,2,42,42,,,9,9", "1,1,1,,,42,50,9,9"} {
		list, _, err := readText(head+row+"\n", Options{})
		testkit.OK(t, err)
		for _, r := range list {
			if r.Prompt != 42 || r.Output != 9 {
				t.Fatalf("%s: %+v", row, r)
			}
		}
		if n := float64(len(list)); math.Abs(n-600) > 5*2*math.Sqrt(600) {
			t.Errorf("%s: %g requests in 600 s at 1/s", row, n)
		}
	}
}

// Files are read up to their bounds on empty lines in a row, the length of a line, columns, and
// calls of a session; one more is refused.
func TestFilesAreReadUpToTheirBounds(t *testing.T) {
	const head = "arrival_s,prompt_tokens,output_tokens"
	const lab = "session_id,arrival_time,round_idx,prefix_len,input_len,output_len," +
		"tool_wait_after_ms\n"
	columns := func(n int) string {
		return head + strings.Repeat(",", n-3) + "\n0,1,1" + strings.Repeat(",", n-3)
	}
	requests := func(n int) string {
		return `{"block_size":1,"requests":[{}` + strings.Repeat(",{}", n-1) + "]}"
	}
	rounds := func(n int) string {
		var b strings.Builder
		b.WriteString(lab)
		for i := range n {
			fmt.Fprintf(&b, "a,0,%d,%d,1,1,0\n", i, 2*i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		most int
		text func(n int) string
	}{
		"empty lines": {100_000, func(n int) string {
			return head + "\n0,1,1\n" + strings.Repeat("\n", n) + "1,1,1"
		}},
		"bytes of a line": {8<<20 - 1, func(n int) string {
			return head + ",x\n" + "0,1,1," + strings.Repeat("x", n-6)
		}},
		"columns": {1000, columns}, "requests of agents": {1<<16 - 1, requests},
		"rounds": {1<<16 - 1, rounds},
	} {
		for n, want := range map[int]bool{c.most: true, c.most + 1: false} {
			_, _, err := readText(c.text(n), Options{})
			if (err == nil) != want {
				t.Errorf("%d %s: %.200v", n, name, err)
			}
		}
	}
}

// The texts of sessions have names of their own, however alike their hashes are.
func TestSessionsShareNoText(t *testing.T) {
	one := `{"block_size":4,"requests":[{"in":8,"out":1,"hash_ids":[1,2]}]}` + "\n"
	list, _, err := readText(strings.Repeat(one, 5), Options{})
	testkit.OK(t, err)
	seen := map[uint64]bool{}
	for i, r := range list {
		for _, s := range r.Content {
			seen[s.ID] = true
		}
		if r.Session != int64(i+1) || len(seen) != 2*(i+1) || seen[content.ID(
			content.TraceBlock, 1)] {
			t.Errorf("%+v is session %d", r, i+1)
		}
	}
}

// A call of a session follows the agents that were started since the call before it, or that call
// where there were no agents; an agent's first call follows the call before it too.
func TestCallsFollowTheirAgents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const call = `{"in":1,"out":1}`
		items := []string{call}
		after := [][]int{nil}
		before := 0    // the last call that is not an agent's
		var ends []int // the last calls of agents since
		for range rapid.IntRange(0, 8).Draw(t, "items") {
			n := rapid.IntRange(0, 2).Draw(t, "calls of an agent")
			if n == 0 {
				items = append(items, call)
				if ends == nil {
					ends = []int{before}
				}
				before, after, ends = len(after), append(after, ends), nil
				continue
			}
			items = append(items, `{"type":"subagent","requests":[`+
				strings.Repeat(call+",", n-1)+call+"]}")
			last := before
			for range n {
				last, after = len(after), append(after, []int{last})
			}
			ends = append(ends, last)
		}
		list, later, err := readText(`{"block_size":1,"requests":[`+strings.Join(items, ",")+"]}",
			Options{})
		testkit.OK(t, err)
		if len(list) != 1 || len(later[0]) != len(after)-1 {
			t.Fatalf("%d later calls of %d", len(later[0]), len(after))
		}
		for i, turn := range later[0] {
			if !slices.Equal(turn.After, after[i+1]) {
				t.Fatalf("call %d of %q follows %v, want %v", i+1, items, turn.After, after[i+1])
			}
		}
	})
}

// An object that is too long is refused for its length, not for its form.
func TestLongObjectsAreRefusedForTheirLength(t *testing.T) {
	_, _, err := readText(`[{"prompt_len": "`+strings.Repeat("x", 9<<20)+`"}]`, Options{})
	if err == nil || !strings.Contains(err.Error(), "of more than 8388608 bytes") ||
		strings.Contains(err.Error(), "JSON") {
		t.Errorf("%.300v", err)
	}
}

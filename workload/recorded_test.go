package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/trace"
)

// counted is a file system that counts the files that are opened and closed, and opens no more than
// most of them.
type counted struct {
	fs.FS
	opened, closed, most int
}

// errGone says that a file cannot be opened.
var errGone = errors.New("gone")

func (c *counted) Open(path string) (fs.File, error) {
	if c.opened == c.most {
		return nil, errGone
	}
	f, err := c.FS.Open(path)
	if err == nil {
		c.opened++
		f = &countedFile{f, c}
	}
	return f, err
}

// Stat implements fs.StatFS, without opening the file.
func (c *counted) Stat(path string) (fs.FileInfo, error) { return fs.Stat(c.FS, path) }

type countedFile struct {
	fs.File
	of *counted
}

func (f *countedFile) Close() error {
	f.of.closed++
	return f.File.Close()
}

// counting returns a file system with these texts, whose every file can be opened at any time.
func counting(texts map[string]string) *counted {
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return &counted{FS: files, most: 1 << 30}
}

// rowsFile is a trace of the given times in seconds.
func rowsFile(times ...int) string {
	text := "arrival_s,prompt_tokens,output_tokens\n"
	for i, at := range times {
		text += fmt.Sprintf("%d,%d,1\n", at, i+1)
	}
	return text
}

// Each file that a workload opens is closed, once: where it is played to its end, where it is
// closed early, where it breaks, and where it is refused.
func TestTracesAreClosedOnce(t *testing.T) {
	files := map[string]string{"a.csv": rowsFile(0, 100, 150, 299),
		"broken.csv":   rowsFile(0, 100, 299) + "x,1,1\n",
		"lengths.json": "[[1, 2], [3, 4]]",
		"sessions.csv": "session_id,arrival_time,round_idx,prefix_len,input_len,output_len," +
			"tool_wait_after_ms\na,0,0,0,5,5,0\na,0,1,10,5,5,0\nb,0,0,0,5,5,0\n"}
	for name, c := range map[string]Config{
		"replay": {Trace: &Trace{Path: "a.csv"}},
		"parts":  {Trace: &Trace{Path: "a.csv", Part: 100 * sim.Second}},
		"repeated": {Requests: 9, Arrivals: poisson(1),
			Trace: &Trace{Path: "a.csv", Repeat: true}},
		"broken":                   {Trace: &Trace{Path: "broken.csv"}},
		"together":                 {Traces: []Trace{{Path: "a.csv"}, {Path: "a.csv"}}},
		"one of two is broken":     {Traces: []Trace{{Path: "a.csv"}, {Path: "broken.csv"}}},
		"lengths":                  {Trace: &Trace{Path: "lengths.json"}, Arrivals: poisson(1)},
		"no times":                 {Trace: &Trace{Path: "lengths.json"}},
		"sessions":                 {Trace: &Trace{Path: "sessions.csv"}},
		"parts of sessions":        {Trace: &Trace{Path: "sessions.csv", Part: sim.Microsecond}},
		"sessions beside others":   {Traces: []Trace{{Path: "a.csv"}, {Path: "sessions.csv"}}},
		"nothing of one that goes": {Traces: []Trace{{Path: "a.csv"}, {Path: "gone.csv"}}},
		"adapters that are wrong":  {Trace: &Trace{Path: "a.csv"}, Adapters: &Adapters{}},
	} {
		for _, sent := range []int{0, 2, 1000} {
			fsys := counting(files)
			if c.Trace != nil {
				c.Trace.FS = fsys
			}
			for i := range c.Traces {
				c.Traces[i].FS = fsys
			}
			s, err := Open(c)
			if err == nil {
				var r sim.Request
				for i := 0; i < sent && s.NextArrival() != sim.Never; i++ {
					s.Next(&r)
					s.Done(&r, r.Arrival)
				}
				broken := sent == 1000 && strings.Contains(name, "broken")
				if bad := s.Err(); (bad != nil) != broken {
					t.Errorf("%s: after %d requests: %v", name, sent, bad)
				}
				testkit.OK(t, s.Close())
				testkit.OK(t, s.Close())
			}
			if fsys.opened == 0 || fsys.opened != fsys.closed {
				t.Errorf("%s, %d requests: %d files opened, %d closed; %v", name, sent, fsys.opened,
					fsys.closed, err)
			}
		}
	}
}

// A file that is gone when its trace begins again, or when its next part does, ends the workload
// with that error, after what came before.
func TestTracesThatAreGoneAreErrors(t *testing.T) {
	for most := 1; most <= 4; most++ {
		fsys := counting(map[string]string{"a.csv": rowsFile(0, 100, 299)})
		fsys.most = most
		again := open(t, Config{Requests: 100, Arrivals: poisson(1),
			Trace: &Trace{Path: "a.csv", Repeat: true, Options: trace.Options{FS: fsys}}})
		n := 0
		for ; again.NextArrival() != sim.Never; n++ {
			var r sim.Request
			again.Next(&r)
			if r.Prompt != n%3+1 {
				t.Errorf("request %d has a prompt of %d", n, r.Prompt)
			}
		}
		if n != 3*most || !errors.Is(again.Err(), errGone) || again.Counts().Requests != 3 {
			t.Errorf("%d requests of %d passes, counted %+v: %v", n, most, again.Counts(),
				again.Err())
		}
		fsys.opened = 0
		s, err := Open(Config{Trace: &Trace{Path: "a.csv", Part: 100 * sim.Second,
			Options: trace.Options{FS: fsys}}})
		for n = 0; err == nil && s.NextArrival() != sim.Never; n++ {
			var r sim.Request
			s.Next(&r)
		}
		// The file is read once to find its parts, and once for each of them; each has a request.
		if err == nil {
			err = s.Err()
		}
		if gone := errors.Is(err, errGone); gone != (most < 4) || n != most-1 {
			t.Errorf("opened %d times: %d requests, %v", most, n, err)
		}
	}
}

// A workload with a number of requests, or an end, sends the beginning of what it sends without,
// and says that its end came only where the time ended it.
func TestLimitsKeepTheBeginning(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 9)
		draw := func(name string) string {
			list := times.Draw(rt, name)
			slices.Sort(list)
			return rowsFile(list...)
		}
		fsys := counting(map[string]string{"a.csv": draw("times"), "b.csv": draw("others")})
		a := Trace{Path: "a.csv", Options: trace.Options{FS: fsys}}
		b := Trace{Path: "b.csv", Options: trace.Options{FS: fsys}}
		c := rapid.SampledFrom([]Config{{Trace: &a}, {Traces: []Trace{a, b}},
			{Traces: []Trace{a, a}}, {Trace: &a, Arrivals: poisson(2)},
			{Trace: &b, Users: &Users{Count: 2}}, {Arrivals: poisson(1), Requests: 20,
				Classes: []Class{{Weight: 1, Prompt: fixed(1), Output: fixed(1)}}}}).Draw(rt,
			"kind")
		whole := serve(t, open(t, c), 1000, second).sent
		most := len(whole)
		if c.Requests == 0 { // it ends by itself, also where more requests are allowed
			most++
		}
		n := rapid.IntRange(0, most).Draw(rt, "requests")
		end := sim.Time(rapid.IntRange(0, 12).Draw(rt, "end")) * sim.Second
		if n < len(whole) && rapid.Bool().Draw(rt, "both") { // the next request comes at the end
			end = whole[n].Arrival
		}
		if n > 0 {
			c.Requests = int64(n)
		}
		c.Duration = end
		s := open(t, c)
		got := serve(t, s, 1000, second).sent
		want := whole
		if n > 0 {
			want = want[:min(n, len(want))]
		}
		late := slices.IndexFunc(want, func(r sim.Request) bool {
			return end > 0 && r.Arrival >= end
		})
		timed := sim.Time(0)
		if late >= 0 {
			want, timed = want[:late], end
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%d requests, %v (-beginning +got):\n%s", n, end, diff)
		}
		s.NextArrival()
		if until := s.(sim.Timed).Until(); until != timed {
			rt.Fatalf("%d requests of %d, end %v: until %v, want %v", n, len(whole), end, until,
				timed)
		}
	})
}

// drawSessions writes recorded sessions: of calls that begin agents, or of rounds.
func drawSessions(t *rapid.T) string {
	number := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
	var b strings.Builder
	if rapid.Bool().Draw(t, "rounds") {
		b.WriteString("session_id,arrival_time,round_idx,prefix_len,input_len,output_len," +
			"tool_wait_after_ms\n")
		for session := range 1 + number("sessions", 3) {
			length := 0
			for round := range 1 + number("rounds", 4) {
				in, out := 1+number("in", 90), 1+number("out", 90)
				fmt.Fprintf(&b, "%d,0,%d,%d,%d,%d,%d\n", session, round, length, in, out,
					number("wait", 3000))
				length += in + out
			}
		}
		return b.String()
	}
	call := func() string {
		in := 1 + number("in", 90)
		hashes := []string{}
		for i := range number("hashes", 2) {
			if i*16 < in {
				hashes = append(hashes, fmt.Sprint(1+number("hash", 3)))
			}
		}
		return fmt.Sprintf(`{"t":%d,"type":"n","in":%d,"out":%d,"hash_ids":[%s],"api_time":1}`,
			number("at", 9), in, 1+number("out", 90), strings.Join(hashes, ","))
	}
	for range 1 + number("sessions", 3) {
		list := []string{call()}
		for range number("calls", 4) {
			if rapid.Bool().Draw(t, "agent") {
				list = append(list, fmt.Sprintf(`{"t":3,"type":"subagent","requests":[%s,%s]}`,
					call(), call()))
			} else {
				list = append(list, call())
			}
		}
		fmt.Fprintf(&b, `{"block_size":16,"requests":[%s]}`+"\n", strings.Join(list, ","))
	}
	return b.String()
}

// A session that was recorded is sent call by call, with the recorded lengths and, in the first
// pass, the recorded texts: each call when those that it follows have ended and its wait, as far as
// it is not cut, is over. A call that does not fit is left out with the calls that follow it.
func TestRecordedSessionsAreSent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := trace.Options{FS: counting(map[string]string{"a": drawSessions(rt)}),
			MaxContext: rapid.SampledFrom([]int{0, 60, 120, 200}).Draw(rt, "context")}
		most := sim.Time(rapid.SampledFrom([]int64{0, 1, int64(sim.Second)}).Draw(rt, "wait"))
		c := Config{Trace: &Trace{Path: "a", Options: o, MaxWait: most},
			Arrivals: &arrivals.Process{Rate: arrivals.Steady(1e-3), Gaps: arrivals.Constant{}}}
		reader, err := trace.Open("a", o)
		testkit.OK(rt, err)
		defer reader.Close()
		s, err := Open(c)
		if errors.Is(err, trace.ErrNoneLeft) {
			return
		}
		testkit.OK(rt, err)
		defer s.Close()
		sessions := map[int64]map[int32]sim.Request{}
		sent := 0
		for _, r := range serve(t, s, 1000, second).sent {
			if sessions[r.Session] == nil {
				sessions[r.Session] = map[int32]sim.Request{}
			}
			sessions[r.Session][r.Call.Number] = r
			sent++
		}
		for session := int64(1); ; session++ {
			var first sim.Request
			if reader.Read(&first) != nil {
				break
			}
			calls := append([]trace.Turn{{Message: first.Prompt, Output: first.Output,
				Answer: first.Answer}}, reader.Turns()...)
			if len(first.Content) > 0 {
				calls[0].Prompt = first.Content
			}
			kept := make([]*sim.Request, len(calls)) // as they were sent; nil for calls left out
			number := int32(0)
			for i, call := range calls {
				after, prompt := call.After, call.Message
				if i > 0 && call.After == nil && call.Prompt == nil {
					if after = []int{i - 1}; kept[i-1] != nil {
						prompt += kept[i-1].Prompt + kept[i-1].Output
					}
				}
				begin, turn, there := sessions[session][1].Arrival, int32(0), true
				for _, a := range after {
					if there = there && kept[a] != nil; there {
						begin = max(begin, kept[a].Arrival+sim.Second)
						turn = max(turn, kept[a].Call.Turn+1)
					}
				}
				if !there || i > 0 && o.MaxContext > 0 && prompt+call.Output > o.MaxContext {
					continue
				}
				number++
				sent--
				r := sessions[session][number]
				wait := call.Wait
				if most > 0 {
					wait = min(wait, most)
				}
				if r.Prompt != prompt || r.Output != call.Output || r.Call.Turn != turn ||
					r.Arrival != begin+wait || call.Prompt != nil &&
					(!cmp.Equal(r.Content, call.Prompt) || r.Answer != call.Answer) {
					rt.Fatalf("call %d of session %d is sent as %+v, want a prompt of %d at %v, "+
						"turn %d: %+v", i, session, r, prompt, begin+wait, turn, call)
				}
				kept[i] = &r
			}
			if of := sessions[session][1].Call.Of; of != number {
				rt.Fatalf("session %d has %d calls, %d were sent", session, number, of)
			}
		}
		if sent != 0 {
			rt.Fatalf("%d calls more than were recorded", sent)
		}
	})
}

// Calls are refused exactly if one waits for a call that does not come before it, or goes on from
// one that it does not wait for, itself or through others.
func TestCallsGoOnFromWhatTheyWaitFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "calls")
		class := Class{Weight: 1, Prompt: fixed(1), Output: fixed(1)}
		waits := make([][]bool, n) // whether a call waits for another
		good := true
		for i := range n {
			call := Call{Prompt: fixed(1), Output: fixed(1), From: -1}
			waits[i] = make([]bool, n)
			for range rapid.IntRange(0, 2).Draw(t, "waits") {
				a := rapid.IntRange(max(0, i-3), max(0, i-1)).Draw(t, "after")
				if rapid.IntRange(0, 20).Draw(t, "wrong") == 0 {
					a = rapid.SampledFrom([]int{-1, i}).Draw(t, "outside")
				}
				call.After = append(call.After, a)
				if a < 0 || a >= i {
					good = false
					continue
				}
				waits[i][a] = true
				for k, other := range waits[a] {
					waits[i][k] = waits[i][k] || other
				}
			}
			if call.From = rapid.IntRange(-1, i).Draw(t, "from"); call.From >= 0 {
				good = good && waits[i][call.From]
			}
			class.Calls = append(class.Calls, call)
		}
		if err := class.check(1); (err == nil) != good {
			t.Fatalf("%+v: %v", class.Calls, err)
		}
	})
	class := Class{Weight: 1, Prompt: fixed(1), Output: fixed(1)}
	for i, of := range []struct {
		change func(c *Class)
		refuse string
	}{
		{func(*Class) {}, ""}, {func(c *Class) { c.Samples = 1 }, ""},
		{func(c *Class) { c.Samples = 2 }, "calls beside"},
		{func(c *Class) { c.Distinct = 1 }, "calls beside"},
		{func(c *Class) { c.Turns = &Turns{Count: fixed(1)} }, "calls beside"},
		{func(c *Class) { c.Calls[0].Prompt = nil }, "call 0: found no lengths"},
		{func(c *Class) { c.Calls[0].Output = nil }, "call 0: found no lengths"},
		{func(c *Class) { c.Calls = slices.Repeat(c.Calls, maxTurns-1) }, ""},
		{func(c *Class) { c.Calls = slices.Repeat(c.Calls, maxTurns) }, "found 65536 calls"},
	} {
		c := class
		c.Calls = []Call{{From: -1, Prompt: fixed(1), Output: fixed(1)}}
		of.change(&c)
		if err := c.check(1); (err == nil) != (of.refuse == "") ||
			err != nil && !strings.Contains(err.Error(), of.refuse) {
			t.Errorf("case %d: %v, want %q", i, err, of.refuse)
		}
	}
}

package timeline

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// drawLife draws a life of parts that follow each other, with computing and waiting between.
func drawLife(t *rapid.T, id int64) *Life {
	ms := rapid.Int64Range(1, 900)
	l := &Life{ID: id, Arrival: sim.Time(ms.Draw(t, "arrival")) * sim.Millisecond, Prompt: 5,
		Output: 3}
	at := l.Arrival
	for range rapid.IntRange(1, 60).Draw(t, "parts") {
		p := Part{Kind: rapid.SampledFrom([]Kind{Queued, Prefill, Waiting, Decode, Held}).Draw(t,
			"kind"),
			From: at, Replica: rapid.IntRange(0, 1).Draw(t, "replica")}
		at += sim.Time(ms.Draw(t, "takes")) * sim.Millisecond
		if p.To = at; p.Kind == Prefill || p.Kind == Decode {
			p.Steps, p.Tokens = rapid.Int64Range(1, 9).Draw(t, "steps"), 7
		}
		l.Parts = append(l.Parts, p)
	}
	l.First, l.Last, l.End = l.Arrival+(at-l.Arrival)/2, at, at
	return l
}

// The rows of a waterfall are its parts: in order, with their steps, tokens and time, whatever is
// joined; 24 at most, of which none is shorter than one that is left out.
func TestRowsAreTheParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &Waterfall{Name: "w", Life: drawLife(t, 1)}
		rows, left := w.rows()
		var steps, shown int64
		var tokens, has int
		var span, covered sim.Time
		for _, p := range w.Parts {
			steps, tokens, span = steps+p.Steps, tokens+p.Tokens, span+p.Span()
		}
		shortest, kinds := sim.Time(math.MaxInt64), map[Kind]sim.Time{}
		for i, r := range rows {
			shown, has, covered = shown+r.Steps, has+r.Tokens, covered+r.Span()
			shortest = min(shortest, r.Span())
			kinds[r.Kind] += r.Span() - r.waiting
			kinds[Waiting] += r.waiting
			if i > 0 && r.From < rows[i-1].To || r.waiting < 0 || r.waiting >= r.Span() {
				t.Errorf("row %d is %+v after %+v", i, r, rows[i-1])
			}
		}
		if len(rows) > 24 || (len(w.Parts) <= 24) != (len(rows) == len(w.Parts) && left == 0) &&
			len(w.Parts) <= 24 {
			t.Errorf("%d parts in %d rows, %d left out", len(w.Parts), len(rows), left)
		}
		if left > 0 && (len(rows) != 24 || span-covered > sim.Time(left)*shortest) {
			t.Errorf("%d rows, and %v in %d others, where the shortest has %v", len(rows),
				span-covered, left,
				shortest)
		}
		if left == 0 {
			if shown != steps || has != tokens || covered != span {
				t.Errorf("%d steps, %d tokens and %v, want %d, %d and %v", shown, has, covered,
					steps, tokens,
					span)
			}
			for _, total := range w.Totals() {
				if kinds[total.Kind] != total.Span {
					t.Errorf("%v in rows of %s, want %v", kinds[total.Kind], total.Kind, total.Span)
				}
			}
		}
		for i := range rows {
			line := w.line(&rows[i])
			bar := []rune(line)[21:]
			for k := range min(barWidth, len(bar)) { // where the row lies, and nothing beside it
				from := float64(rows[i].From-w.Arrival) / float64(w.E2E()) * barWidth
				to := float64(rows[i].To-w.Arrival) / float64(w.E2E()) * barWidth
				drawn := string(bar[k]) == string(lookOf(rows[i].Kind).rune())
				if inside := float64(k) >= from && float64(k+1) <= to; inside && !drawn ||
					drawn && (float64(k+1) < from-1e-6 || float64(k) > to+1e-6) {
					t.Errorf("column %d of a row from %g to %g is %q", k, from, to, bar[k])
				}
			}
		}
		var b strings.Builder
		testkit.OK(t, doc.Print(&b, Waterfalls([]Waterfall{*w})))
		if is := strings.Contains(b.String(), " are left out."); is != (left > 0) {
			t.Errorf("%d parts are left out:\n%s", left, b.String())
		}
	})
}

// A row of a chart is drawn from arrival to the last token, and each of its parts is seen, as long
// as its share of the time to a character.
func TestCharactersOfALife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLife(t, 1)
		whole := l.Last + sim.Time(rapid.Int64Range(0, 9).Draw(t, "rest"))*sim.Second
		text := drawRow(l, whole)
		cells := float64(textWidth) / float64(whole)
		if utf8.RuneCountInString(text) != textWidth {
			t.Fatalf("%q", text)
		}
		drawn := utf8.RuneCountInString(strings.ReplaceAll(text, " ", ""))
		if before := utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeft(text,
			" ")); math.Abs(
			float64(before)-float64(l.Arrival)*cells) > 1 ||
			math.Abs(float64(drawn)-float64(l.Last-l.Arrival)*cells) > 2.01 {
			t.Errorf("%d characters from %d on of %q", drawn, before, text)
		}
		for _, p := range l.Parts {
			if p.Kind == Prefill && !strings.Contains(text, "▒") {
				t.Errorf("no prefill in %q", text)
			}
		}
	})
}

// pixels are what a picture has of an element: its attributes, and the text that follows.
type pixels struct {
	name  string
	at    map[string]float64
	fill  string
	class string
	path  string
	text  string
}

// elements reads a picture.
func elements(t *rapid.T, picture string) (list []pixels) {
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return list
		}
		testkit.OK(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			p := pixels{name: token.Name.Local, at: map[string]float64{}}
			for _, a := range token.Attr {
				if v, err := strconv.ParseFloat(a.Value, 64); err == nil {
					p.at[a.Name.Local] = v
				}
				switch a.Name.Local {
				case "fill":
					p.fill = a.Value
				case "class":
					p.class = a.Value
				case "d":
					p.path = a.Value
				}
			}
			list = append(list, p)
		case xml.CharData:
			if n := len(list); n > 0 {
				list[n-1].text += string(token)
			}
		}
	}
}

// A picture has everything inside of it and in order: a row for each request at its times, evenly
// below each other, a box for each step, the blocks with who holds them, and under
// them an axis with round ticks at their times.
func TestThePictureIsToScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Chart{Name: "c"}
		for i := range rapid.IntRange(1, 5).Draw(t, "requests") {
			c.Rows = append(c.Rows, drawLife(t, int64(i)))
			c.End = max(c.End, c.Rows[i].Last)
		}
		for i := range rapid.IntRange(1, 2).Draw(t, "tracks") {
			c.Tracks = append(c.Tracks, Track{Replica: i, Steps: []Step{{From: 0, To: c.End / 2,
				Prompt:  3,
				Decodes: 1}, {From: c.End / 2, To: c.End, Decodes: 2}}})
		}
		if rapid.Bool().Draw(t, "memory") {
			c.Blocks = &Blocks{Capacity: 160, Size: 16, Spans: []Span{{0, 1, 0, c.End, false},
				{1, 1, 0, c.End, false}, {2, 1, 0, c.End / 2, false}, {3, 2, 0, c.End / 2, false},
				{3, 2, c.End / 2, c.End, true}}}
		}
		list := elements(t, svg("title", []*Chart{c}))
		high := list[0].at["height"]
		x := func(at sim.Time) float64 { return 96 + (1180-96-24)*float64(at)/float64(c.End) }
		var rows, boxes []pixels
		var cells []pixels
		ground := 0
		axis, lowest := 0.0, 0.0
		for _, p := range list {
			switch {
			case p.name == "line":
				rows = append(rows, p)
				lowest = max(lowest, p.at["y1"])
			case p.name == "rect" && p.class == "held":
				cells = append(cells, p)
			case p.name == "rect" && p.at["width"] == 1180 && p.at["height"] == high:
				ground++
			case p.name == "text" && strings.HasPrefix(strings.TrimSpace(p.text), "replica ") !=
				(len(c.Tracks) > 1) && p.at["x"] == 88 && p.at["y"] < 100 &&
				strings.ContainsAny(p.text, "sr"):
				t.Errorf("of %d batches one is %q", len(c.Tracks), p.text)
				lowest = max(lowest, p.at["y"]+10)
			case p.name == "rect" && p.at["height"] == stepTall-8 && p.fill == decode.colour():
				boxes = append(boxes, p)
			case p.name == "path" && strings.Contains(p.path, "H"):
				_, err := fmt.Sscanf(p.path, "M96 %g H1156", &axis)
				testkit.OK(t, err)
			}
			if p.name == "rect" && (p.at["x"] < 0 || p.at["x"]+p.at["width"] > 1180.01 ||
				p.at["y"] < 0 ||
				p.at["y"]+p.at["height"] > high) {
				t.Errorf("%+v is outside of the picture, %g high", p, high)
			}
		}
		if len(rows) != len(c.Rows) || len(boxes) != 2*len(c.Tracks) || lowest >= axis ||
			axis+36 > high {
			t.Fatalf("%d rows, %d boxes down to %g, the axis at %g of %g", len(rows), len(boxes),
				lowest, axis,
				high)
		}
		if ground != 1 {
			t.Errorf("%d times the ground", ground)
		}
		for i, p := range rows {
			if l := c.Rows[i]; math.Abs(p.at["x1"]-x(l.Arrival)) > 0.01 ||
				math.Abs(p.at["x2"]-x(l.Last)) > 0.01 ||
				p.at["y1"] != rows[0].at["y1"]+18*float64(i) ||
				p.at["y1"] != p.at["y2"] {
				t.Errorf("row %d is %+v", i, p)
			}
		}
		lives(t, list, c, rows)
		for i, p := range boxes { // three of four tokens are of prompts, then none
			share := 0.75 * float64(1-i%2)
			if !slices.ContainsFunc(list, func(q pixels) bool {
				return q.name == "rect" && q.fill == prefill.colour() && q.at["x"] == p.at["x"] &&
					q.at["y"] == p.at["y"] && q.at["width"] == p.at["width"] &&
					math.Abs(q.at["height"]-share*(stepTall-8)) < 0.06
			}) {
				t.Errorf("box %d is not prefill by %g", i, share)
			}
		}
		for i, p := range boxes {
			if half := x(c.End/2) - 96; math.Abs(p.at["x"]-96-half*float64(i%2)) > 0.01 ||
				math.Abs(p.at["width"]-half+1) > 0.02 ||
				p.at["y"] != boxes[0].at["y"]+stepTall*float64(i/2) ||
				p.at["y"] >= rows[0].at["y1"] {
				t.Errorf("box %d is %+v", i, p)
			}
		}
		heldBlocks(t, c, cells, x)
		ticks(t, list, axis, c.End)
		var legend []string // the colour, and beside it what it means
		for i, p := range list {
			if p.name == "rect" && p.at["height"] == 12 && p.at["y"] < headTall {
				if next := list[i+1]; next.at["x"] <= p.at["x"]+12 ||
					next.at["x"]+6*float64(len(strings.TrimSpace(next.text))) > 1180 {
					t.Errorf("%+v is not beside %+v", next, p)
				}
				legend = append(legend, p.fill+" "+strings.TrimSpace(list[i+1].text))
			}
		}
		if want := []string{held.colour() + " " + held.name(), decode.colour() + " decode",
			prefill.colour() + " prefill"}; !slices.Equal(legend, want) {
			t.Errorf("the legend is %q, want %q", legend, want)
		}
	})
}

// heldBlocks checks the picture of the four blocks: three runs of blocks by who holds them when,
// and a pale one that keeps its content.
func heldBlocks(t *rapid.T, c *Chart, cells []pixels, x func(sim.Time) float64) {
	if c.Blocks == nil {
		if len(cells) > 0 {
			t.Errorf("blocks of no memory: %+v", cells)
		}
		return
	}
	const block = blocksTall / 4.0
	half, top := c.End/2, math.Inf(1)
	for _, p := range cells {
		top = min(top, p.at["y"])
	}
	for _, want := range []struct {
		from, to sim.Time
		n, first float64
		id       int64
	}{{0, c.End, 2, 0, 1}, {0, half, 1, 2, 1}, {0, half, 1, 3, 2}, {half, c.End, 1, 3, 2}} {
		if !slices.ContainsFunc(cells, func(p pixels) bool {
			near := func(name string, v float64) bool { return math.Abs(p.at[name]-v) < 0.02 }
			return near("x", x(want.from)) && near("width", x(want.to)-x(want.from)) &&
				near("height", want.n*block) && near("y", top+want.first*block) &&
				p.fill == requestColour(want.id) &&
				near("fill-opacity", map[bool]float64{true: 0.25, false: 1}[want.from > 0])
		}) {
			t.Errorf("of blocks, %+v is not among %+v", want, cells)
		}
	}
	if len(cells) != 4 {
		t.Errorf("%d runs of blocks, want 4", len(cells))
	}
}

// lives checks what a picture has of each request: its number beside its row, an upright mark at
// its first token that is as high as its bars, and a bar in its colour for each part that computes
// or is held.
func lives(t *rapid.T, list []pixels, c *Chart, rows []pixels) {
	t.Helper()
	x := func(at sim.Time) float64 { return 96 + 1060*float64(at)/float64(c.End) }
	marks, labels, bars, names := 0, 0, 0, map[string]bool{}
	for i, l := range c.Rows {
		names[fmt.Sprint(l.ID)] = true
		y := rows[i].at["y1"]
		for _, p := range list {
			var at, top, long float64
			if _, err := fmt.Sscanf(p.path, "M%g %g v%g", &at, &top, &long); err == nil &&
				top < y && y < top+long && long < rowHeight {
				marks++
				if math.Abs(at-x(l.First)) > 0.01 || math.Abs(y-top-long/2) > 0.5 {
					t.Errorf("request %d has its first token at %v, the mark is at %g, "+
						"%g to %g", l.ID, l.First, at, top, top+long)
				}
			}
			if p.name == "text" && p.at["x"] == 88 &&
				strings.TrimSpace(p.text) == fmt.Sprint(l.ID) && math.Abs(p.at["y"]-y-4) < 1 {
				labels++
			}
		}
		for _, part := range l.Parts {
			if lookOf(part.Kind) == waits {
				continue
			}
			bars++
			if !slices.ContainsFunc(list, func(p pixels) bool {
				return p.name == "rect" && p.at["height"] == barHeight &&
					p.fill == lookOf(part.Kind).colour() && p.at["y"] == y-barHeight/2 &&
					math.Abs(p.at["x"]-x(part.From)) < 0.01 &&
					math.Abs(p.at["width"]-max(1, x(part.To)-x(part.From))) < 0.02
			}) {
				t.Errorf("request %d has no bar for %+v", l.ID, part)
			}
		}
	}
	drawn := 0
	for _, p := range list {
		if p.name == "rect" && p.at["height"] == barHeight && p.at["y"] > headTall {
			drawn++
		}
	}
	if n := len(c.Rows); marks != n || labels != n || len(names) != n || drawn != bars {
		t.Errorf("%d marks, %d numbers, %d bars, want %d, %d and %d", marks, labels, drawn, n, n,
			bars)
	}
}

// Steps that are drawn as one are alike, follow each other and are narrow; none of their time is
// lost.
func TestJoinedStepsKeepTheirTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &drawing{whole: 1060 * sim.Second} // a pixel is a second
		var steps []Step
		at := sim.Time(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			s := Step{From: at + sim.Time(rapid.IntRange(0, 5).Draw(t, "gap")/5)*sim.Second,
				Decodes: rapid.IntRange(1, 2).Draw(t, "decodes"),
				Prompt:  rapid.IntRange(0, 3).Draw(t, "prompt") / 3}
			s.To = s.From + sim.Time(rapid.IntRange(1, 4).Draw(t, "takes"))*sim.Second/2
			steps, at = append(steps, s), s.To
		}
		var before, after sim.Time
		for _, s := range steps {
			before += s.To - s.From
		}
		list := d.joined(steps)
		boxes := 1
		for i, s := range steps {
			if i > 0 {
				l := steps[i-1]
				alike := l.Prompt+s.Prompt == 0 && l.Decodes == s.Decodes && l.To == s.From
				if !alike || s.To-s.From >= 2*sim.Second {
					boxes++
				}
			}
		}
		for _, s := range list {
			after += s.To - s.From
		}
		if before != after || len(list) != boxes {
			t.Errorf("%d boxes of %v, want %d of %v:\n%v", len(list), after, boxes, before, steps)
		}
	})
}

// A page has the picture and each request in words, with its parts, in well-formed lists; a chart's
// words have its means, and a name that would be markup is not.
func TestPageSaysEachLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var charts []*Chart
		requests := 0
		for range rapid.IntRange(1, 2).Draw(t, "charts") {
			c := &Chart{Name: "<b>",
				Tracks: []Track{{Steps: []Step{{}, {Decodes: 1}, {Padding: 1}}}, {}}}
			var first, last float64
			for i := range rapid.IntRange(1, 4).Draw(t, "requests") {
				l := drawLife(t, int64(i))
				c.Rows, c.End = append(c.Rows, l), max(c.End, l.Last)
				first, last = first+l.TTFT().Seconds(), last+l.E2E().Seconds()
				requests++
			}
			charts = append(charts, c)
			n := float64(len(c.Rows))
			want := fmt.Sprintf("%g requests in 3 steps: on average %s to the first token, %s to "+
				"the last; all are done after %s.", n, units.FormatDuration(first/n),
				units.FormatDuration(last/n), duration(c.End))
			if got := c.words(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		var out strings.Builder
		testkit.OK(t, WritePage(&out, "title", charts))
		page := out.String()
		for tag, want := range map[string]int{"li>": requests, "ul>": len(charts),
			"h2>": len(charts), "svg>": 1, "body>": 1, "html>": 1,
			"g>": requests + 3*len(charts), "b>": 0} {
			if n := strings.Count(page, "</"+tag); n != want {
				t.Errorf("%d times </%s, want %d", n, tag, want)
			}
		}
		for _, c := range charts {
			for _, l := range c.Rows {
				words := describe(l)
				if strings.Count(page, "<li>"+words) < 1 || strings.Count(page, words) < 2 {
					t.Errorf("the page does not say %q in the picture and in words", words)
				}
				prefills := 0
				for _, p := range l.Parts {
					said := fmt.Sprintf("from %s to %s in %d steps (%d tokens)", duration(p.From),
						duration(p.To), p.Steps, p.Tokens)
					if p.Kind != Prefill {
						continue
					}
					prefills++
					if !strings.Contains(words, said) {
						t.Errorf("%+v is not in %q", p, words)
					}
				}
				if n := strings.Count(words, " tokens)"); n != prefills {
					t.Errorf("%d parts have prompt tokens, want %d: %q", n, prefills, words)
				}
			}
		}
	})
}

// ticks checks the scale of time.
func ticks(t *rapid.T, list []pixels, axis float64, whole sim.Time) {
	var values []float64
	by := 1.0
	if whole.Seconds() < 2 {
		by = 1000
	}
	for _, p := range list {
		v, err := strconv.ParseFloat(strings.TrimSpace(p.text), 64)
		if p.name != "text" || p.at["y"] != axis+18 || err != nil {
			continue
		}
		if want := 96 + 1060*v/by/whole.Seconds(); math.Abs(p.at["x"]-want) > 0.06 {
			t.Errorf("the tick of %g is at %g, want %g", v, p.at["x"], want)
		}
		values = append(values, v)
	}
	if len(values) < 4 || len(values) > 10 || values[0] != 0 {
		t.Fatalf("ticks %v of %g s", values, whole.Seconds())
	}
	step := values[1]
	digits := strconv.FormatFloat(step, 'e', -1, 64)
	if !slices.Contains([]string{"1", "2", "5"}, digits[:1]) || digits[1] != 'e' ||
		(values[len(values)-1]+step)/by <= whole.Seconds() {
		t.Errorf("ticks %v of %g s", values, whole.Seconds())
	}
	for i, v := range values {
		if math.Abs(v-step*float64(i)) > 1e-6*v {
			t.Errorf("ticks %v", values)
		}
	}
}

// The memory is what holds tokens, what is taken and empty, and what is free.
func TestSharesOfMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &Blocks{Capacity: 1000}
		var room, stored int64
		for i := range rapid.IntRange(0, 4).Draw(t, "requests") {
			h := Holder{ID: int64(i), Room: rapid.Int64Range(0, 20).Draw(t, "room") * 10}
			h.Stored = h.Room / 2
			b.Holders = append(b.Holders, h)
			room, stored = room+h.Room, stored+h.Stored
		}
		want := fmt.Sprintf("%d requests; %g%% holds tokens, %g%% is taken and empty, "+
			"%g%% is free.",
			len(b.Holders), math.Round(float64(stored)/10), 0.0, math.Round(float64(1000-room)/10))
		got := b.words()
		for i, part := range strings.Split(want, ", ") {
			if i != 1 && stored%10 == 0 && !strings.Contains(got, part) {
				t.Errorf("%q, want %q", got, part)
			}
		}
	})
}

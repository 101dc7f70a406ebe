package records

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A store is a map from tags and beginnings of names to records: whatever is tagged, untagged and
// removed, each record has its tags, a name finds the one record that it stands for, and one that
// stands for none or for several is refused.
func TestStoreIsAMap(t *testing.T) {
	base := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		s := Open(filepath.Join(base, strconv.Itoa(round)))
		if _, err := s.Get(Latest); err == nil {
			t.Errorf("an empty store has a latest record")
		}
		tags := map[string]map[string]bool{}
		for i := range 3 {
			id, err := s.Put(scenarioRecord(fmt.Sprint(i)), About{Note: fmt.Sprint(i)})
			testkit.OK(t, err)
			tags[id] = map[string]bool{}
		}
		ids := slices.Sorted(maps.Keys(tags))
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			id := rapid.SampledFrom(ids).Draw(t, "record")
			tag := rapid.SampledFrom([]string{"a", "b.1", "latest", "-x", "", "a/b"}).Draw(t, "tag")
			good := tag == "a" || tag == "b.1"
			switch rapid.SampledFrom([]string{"tag", "untag", "remove"}).Draw(t, "change") {
			case "tag":
				if err := s.Tag(id, tag); (err == nil) != (good && tags[id] != nil) {
					t.Errorf("tag %q: %v", tag, err)
				} else if err == nil {
					tags[id][tag] = true
				}
			case "untag":
				if err := s.Untag(id, tag); (err == nil) != (tags[id] != nil && tags[id][tag]) {
					t.Errorf("untag %q of %v: %v", tag, tags[id], err)
				} else if err == nil {
					delete(tags[id], tag)
				}
			case "remove":
				if len(tags) == 1 {
					continue
				}
				if _, err := s.Remove(id[:10]); (err == nil) != (tags[id] != nil) {
					t.Errorf("remove: %v", err)
				}
				delete(tags, id)
			}
		}
		list, problems, err := s.List()
		if err != nil || len(problems) > 0 || len(list) != len(tags) {
			t.Fatalf("%d records of %d, %v, %v", len(list), len(tags), problems, err)
		}
		having := map[string][]string{}
		for i, e := range list {
			if want := slices.Sorted(maps.Keys(tags[e.ID])); !slices.Equal(e.Tags, want) {
				t.Errorf("%.8s has tags %q, want %q", e.ID, e.Tags, want)
			}
			for tag := range tags[e.ID] {
				having[tag] = append(having[tag], e.ID)
			}
			if i > 0 && list[i-1].Note > e.Note {
				t.Errorf("note %s comes before %s", list[i-1].Note, e.Note)
			}
			for n, ok := range map[int]bool{3: false, 4: true, 64: true} {
				got, err := s.Get(e.ID[:n])
				if (err == nil) != ok || ok && (got.ID != e.ID || len(got.Tags) != len(e.Tags)) {
					t.Errorf("%d characters of a name: %v, want found %v", n, err, ok)
				}
			}
		}
		for _, tag := range []string{"a", "b.1"} {
			got, err := s.Get(tag)
			if (err == nil) != (len(having[tag]) == 1) || err == nil && got.ID != having[tag][0] {
				t.Errorf("the tag %s of %q: %v", tag, having[tag], err)
			}
		}
		if last, err := s.Get(Latest); err != nil || last.ID != list[len(list)-1].ID {
			t.Errorf("the latest is not the last of the list: %v", err)
		}
	})
}

// figured is a record with some figures, an amount in a list, and settings.
func figured(t *rapid.T, name string) *Record {
	figures := map[string]any{"list": []int{1, 2}, "seed": 5, "text": "7",
		"scenario": map[string]any{"rate": rapid.IntRange(1, 2).Draw(t, name+" rate"),
			"model": "m"}}
	for _, key := range []string{"a", "b", "c"} {
		if n := rapid.IntRange(-1, 2).Draw(t, name+" "+key); n >= 0 {
			figures[key] = map[string]any{"x": n}
		}
	}
	data, err := json.Marshal(figures)
	testkit.OK(t, err)
	return &Record{Command: "scenario", Name: name, Version: "v1", Result: data}
}

// Two records differ in the figures and the settings that are not the same in both, each once, in
// order, with the ratio of two figures above 0. In the other order they differ by the inverse.
func TestDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := figured(t, "one"), figured(t, "other")
		settings, figures, err := Diff(a, b)
		testkit.OK(t, err)
		_, back, err := Diff(b, a)
		testkit.OK(t, err)
		fa, err := a.Figures()
		testkit.OK(t, err)
		fb, err := b.Figures()
		testkit.OK(t, err)
		var want []string
		for _, key := range []string{"a.x", "b.x", "c.x"} {
			x, inA := fa[key]
			y, inB := fb[key]
			if x != y || inA != inB {
				want = append(want, key)
			}
		}
		for i, d := range figures {
			if i >= len(want) || d.Key != want[i] || back[i].Key != d.Key ||
				back[i].One != d.Other {
				t.Fatalf("%+v and back %+v, want %q", figures, back, want)
			}
			x, y := fa[d.Key], fb[d.Key]
			if ratio := d.Ratio; (ratio != 0) != (x > 0 && y > 0) ||
				ratio != 0 && (math.Abs(ratio-y/x) > 1e-12 ||
					math.Abs(ratio*back[i].Ratio-1) > 1e-12) {
				t.Errorf("%s: %g and %g have the ratio %g", d.Key, x, y, ratio)
			}
		}
		rates := string(a.Result) != string(b.Result) && len(settings) == 1
		if len(figures) != len(want) || len(settings) > 1 || rates && settings[0].Key != "rate" {
			t.Errorf("figures %+v, want %q; settings %+v", figures, want, settings)
		}
		for _, f := range []map[string]float64{fa, fb} {
			for key := range f {
				if !strings.HasSuffix(key, ".x") || strings.HasPrefix(key, "scenario.") {
					t.Errorf("%q is a figure", key)
				}
			}
		}
	})
}

// A table says the same in CSV, as JSON and as a page: each figure of each record in its column,
// and nothing where the record does not have it. The page leaves out what all records share.
func TestTablesSayTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var entries []Entry
		for i := range rapid.IntRange(1, 4).Draw(t, "records") {
			entries = append(entries, Entry{ID: strings.Repeat(fmt.Sprint(i), 64),
				Tags:   []string{"x", "y"},
				Record: figured(t, fmt.Sprint("name ", i))})
		}
		columns := rapid.SampledFrom([][]string{nil, {"b.x"}, {"c.x", "a.x"}}).Draw(t, "columns")
		table, err := NewTable(entries, columns)
		testkit.OK(t, err)
		if columns != nil && !slices.Equal(table.Columns, columns) ||
			!slices.IsSorted(table.Columns) &&
				columns == nil {
			t.Errorf("columns %q, want %q", table.Columns, columns)
		}
		var text, html bytes.Buffer
		testkit.OK(t, table.WriteCSV(&text))
		testkit.OK(t, table.WriteHTML(&html))
		lines, err := csv.NewReader(&text).ReadAll()
		testkit.OK(t, err)
		data, err := json.Marshal(table)
		testkit.OK(t, err)
		var rows []struct {
			ID      string
			Figures map[string]float64
			Tags    []string
		}
		testkit.OK(t, json.Unmarshal(data, &rows))
		shown := map[string]map[string]bool{}
		for i, e := range entries {
			figures, err := e.Figures()
			testkit.OK(t, err)
			if lines[i+1][0] != e.ID || lines[i+1][4] != "x y" || rows[i].ID != e.ID ||
				!strings.Contains(html.String(), ">"+e.ID[:12]+" "+e.Name+" (x, y)</th>") {
				t.Errorf("row %d is %q, %+v", i, lines[i+1], rows[i])
			}
			for k, column := range table.Columns {
				want := ""
				if f, ok := figures[column]; ok {
					want = fmt.Sprint(f)
				}
				f, ok := rows[i].Figures[column]
				if cell := lines[i+1][5+k]; lines[0][5+k] != column || cell != want ||
					ok != (want != "") || ok && fmt.Sprint(f) != want {
					t.Errorf("%s of record %d: %q in CSV and %g in JSON, want %q", column, i, cell,
						f,
						want)
				}
				if shown[column] == nil {
					shown[column] = map[string]bool{}
				}
				shown[column][want] = true
			}
		}
		for column, values := range shown {
			if is := strings.Contains(html.String(), "row\">"+column+"</th>"); is !=
				(len(values) > 1 || len(entries) == 1) {
				t.Errorf("%s has the values %v, and is on the page: %v", column, values, is)
			}
		}
		if len(entries) > 1 && strings.Contains(html.String(), "row\">model</th>") {
			t.Errorf("the page has a setting that all share:\n%s", html.String())
		}
	})
}

// An input is what it was where its bytes are the same. One that has other bytes, is absent, or is
// no file is told, and so is another version.
func TestChangedInputs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "in.txt")
	testkit.OK(t, os.WriteFile(path, []byte("some"), 0o600))
	for _, keep := range []bool{true, false} {
		in, err := ReadInput(path, keep)
		if err != nil || (in.Text == "some") != keep || len(in.SHA256) != 64 {
			t.Fatalf("%+v, %v", in, err)
		}
		r := &Record{Version: "v1", Inputs: []Input{in}}
		if list := r.Changed("v1"); len(list) > 0 {
			t.Errorf("nothing changed: %q", list)
		}
		if list := r.Changed("v2"); len(list) != 1 || !strings.Contains(list[0], "version") {
			t.Errorf("another version: %q", list)
		}
		r.Inputs[0].SHA256 = strings.Repeat("0", 64)
		if list := r.Changed("v1"); len(list) != 1 || !strings.Contains(list[0], "differ") {
			t.Errorf("other bytes: %q", list)
		}
		r.Inputs[0].Path = filepath.ToSlash(filepath.Join(dir, "gone.txt"))
		if list := r.Changed("v1"); len(list) != 1 || !strings.Contains(list[0], "absent") ||
			strings.Contains(list[0], "runs show") != keep {
			t.Errorf("an absent file: %q", list)
		}
		r.Inputs[0].Path = filepath.ToSlash(dir)
		if list := r.Changed("v1"); len(list) != 1 || !strings.Contains(list[0], "regular") {
			t.Errorf("a folder: %q", list)
		}
		now := &Record{Inputs: []Input{{Path: filepath.ToSlash(path)}}}
		here := &Record{Inputs: []Input{{Path: filepath.ToSlash(path)}}}
		gone := &Record{Inputs: []Input{{Path: dir + "/gone.txt"}}}
		for want, list := range map[string][]string{"": now.OtherInputs(here),
			"read now, and the record does not": gone.OtherInputs(now),
			"is not read now":                   now.OtherInputs(&Record{})} {
			if len(list) > 1 || (len(list) == 1) != (want != "") ||
				want != "" && !strings.Contains(list[0], want) {
				t.Errorf("%q, want %q", list, want)
			}
		}
	}
	if _, err := Open(dir).Put(&Record{}, About{Note: strings.Repeat("x", 1<<12+1)}); err == nil {
		t.Error("a note that is too long is kept")
	}
	if _, err := Open(dir).Put(&Record{Result: json.RawMessage("{}")},
		About{Note: strings.Repeat("x", 1<<12)}); err != nil {
		t.Error(err)
	}
}

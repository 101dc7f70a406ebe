package strict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// speed is a number with a unit.
type speed float64

func (s *speed) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "km/h")
	if _, err := fmt.Sscan(number, (*float64)(s)); !ok || err != nil {
		return fmt.Errorf("found %q; want a speed such as 50km/h", text)
	}
	return nil
}

func (s speed) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%vkm/h", float64(s)), nil }

type wheel struct {
	Size  int    `json:"size,omitempty" short:"true" min:"1"`
	Maker string `json:"maker,omitempty"`
}

type extra struct {
	Kind string            `json:"kind,omitempty" short:"true"`
	More map[string]string `json:"-" rest:"true"`
}

type engine struct {
	Fuel    string  `json:"fuel,omitempty" enum:"petrol,battery,pedals" kind:"true"`
	Tank    int     `json:"tank,omitempty" need:"petrol"`
	Battery int     `json:"battery,omitempty" need:"battery" min:"1"`
	Charger string  `json:"charger,omitempty" only:"battery"`
	Power   float64 `json:"power,omitempty" required:"true"`
}

type vehicle struct {
	Name   string  `json:"name,omitempty"`
	Colour string  `json:"colour,omitempty" enum:"red,green,blue"`
	Top    speed   `json:"top-speed,omitempty" min:"0"`
	Load   float64 `json:"load,omitempty" min:"0" below:"1"`
	Seats  int     `json:"seats,omitempty" above:"0" max:"9"`
	Serial uint64  `json:"serial,omitempty"`
	Used   bool    `json:"used,omitempty"`
	Spare  *wheel  `json:"spare,omitempty"`
	Wheels []wheel `json:"wheels,omitempty"`
	Radio  extra   `json:"radio,omitempty"`
	Engine engine  `json:"engine,omitempty"`
}

// read parses, overrides and decodes.
func read(text string, sets ...string) (vehicle, *Document, error) {
	var v vehicle
	doc, err := Parse("car.yaml", []byte(text))
	if err != nil {
		return v, nil, err
	}
	for _, set := range sets {
		if err := doc.Set(set, &v); err != nil {
			return v, doc, err
		}
	}
	return v, doc, doc.Decode(&v)
}

func TestBadInputIsNamedWithItsPlace(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"empty", "", "car.yaml: the file is empty"},
		{"only a comment", "# nothing\n", "car.yaml: the file is empty"},
		{"not a mapping", "- 1\n", "car.yaml:1: found a list; want a mapping of keys to values"},
		{"two documents", "name: a\n---\nname: b\n",
			"car.yaml:2: a second YAML document starts here; a file holds one"},
		{"no YAML", "name: [a\nseats: 2\n",
			"car.yaml:2: not YAML: did not find expected ',' or ']'"},
		{"no YAML further down", "seats: 2\nname: [a\nused: true\n",
			"car.yaml:2: not YAML: did not find expected ',' or ']'"},
		{"no YAML to scan", "seats: 2\nname: a: b\n",
			"car.yaml:2: not YAML: mapping values are not allowed in this context"},
		{"a tab", "seats: 2\n\tname: a\n",
			"car.yaml:2: not YAML: found a tab character that violates indentation"},
		{"near key", "name: a\ncolor: red\n",
			`car.yaml:2: unknown key "color"; did you mean colour?`},
		{"far key", "wings: 2\n",
			`car.yaml:1: unknown key "wings"; known: name, colour, top-speed, load, seats, serial, used, spare, wheels, radio, engine`},
		{"nested key", "spare:\n  sise: 2\n",
			`car.yaml:2: spare: unknown key "sise"; did you mean size?`},
		{"twice", "seats: 1\nname: a\nseats: 2\n",
			`car.yaml:3: key "seats" is given twice, first on line 1`},
		{"no value", "seats:\n", "car.yaml:1: seats: has no value; want a whole number"},
		{"word for number", "seats: many\n",
			`car.yaml:1: seats: found "many"; want a whole number`},
		{"fraction", "seats: 1.5\n", `car.yaml:1: seats: found "1.5"; want a whole number`},
		{"negative", "serial: -1\n", `car.yaml:1: serial: found "-1"; want a whole number from 0`},
		{"not a number", "load: .nan\n", `car.yaml:1: load: found ".nan"; want a number`},
		{"NaN", "load: NaN\n", `car.yaml:1: load: found "NaN"; want a number`},
		{"infinite", "load: -Inf\n", `car.yaml:1: load: found "-Inf"; want a number`},
		{"too small", "load: -0.5\n", "car.yaml:1: load: found -0.5; must be at least 0"},
		{"at an open end", "load: 1\n", "car.yaml:1: load: found 1; must be less than 1"},
		{"zero", "seats: 0\n", "car.yaml:1: seats: found 0; must be more than 0"},
		{"too large", "seats: 10\n", "car.yaml:1: seats: found 10; must be at most 9"},
		{"no unit", "top-speed: 50\n",
			`car.yaml:1: top-speed: found "50"; want a speed such as 50km/h`},
		{"negative unit", "top-speed: -5km/h\n",
			"car.yaml:1: top-speed: found -5km/h; must be at least 0"},
		{"near word", "colour: gren\n", `car.yaml:1: colour: found "gren"; did you mean green?`},
		{"far word", "colour: ochre\n",
			`car.yaml:1: colour: found "ochre"; want one of red, green, blue`},
		{"truth", "used: maybe\n", `car.yaml:1: used: found "maybe"; want true or false`},
		{"mapping for scalar", "name: {a: b}\n", "car.yaml:1: name: found a mapping; want a word"},
		{"list for mapping", "spare: [1]\n",
			"car.yaml:1: spare: found a list; want a whole number or a mapping with the keys " +
				"size, maker"},
		{"scalar for list", "wheels: 4\n", `car.yaml:1: wheels: found "4"; want a list`},
		{"empty list", "wheels: []\n", "car.yaml:1: wheels: the list is empty"},
		{"in a list", "wheels:\n  - 16\n  - {size: 0}\n",
			"car.yaml:3: wheels.1.size: found 0; must be at least 1"},
		{"list among the rest", "radio: {kind: fm, gain: [1]}\n",
			"car.yaml:1: radio.gain: found a list; want a single value"},
		{"required", "engine: {tank: 3}\n", "car.yaml:1: engine.power: must be given"},
		{"needed by the kind", "engine: {power: 1, fuel: battery}\n",
			"car.yaml:1: engine.battery: must be given where fuel is battery"},
		{"needed by the default kind", "engine: {power: 1}\n",
			"car.yaml:1: engine.tank: must be given where fuel is petrol"},
		{"not for the kind", "engine:\n  power: 1\n  fuel: pedals\n  tank: 1\n  charger: x\n",
			"car.yaml:4: engine.tank: applies only where fuel is petrol; here it is pedals\n" +
				"car.yaml:5: engine.charger: applies only where fuel is battery; here it " +
				"is pedals"},
		{"several", "nmae: a\nseats: x\n",
			"car.yaml:1: unknown key \"nmae\"; did you mean name?\ncar.yaml:2: seats: found " +
				"\"x\"; want a whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := read(c.yaml)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestGoodInput(t *testing.T) {
	got, doc, err := read(`
name: 70          # numbers are words where a word is wanted
colour: red
top-speed: 120.5km/h
load: 0.25
seats: 4
serial: 18_446_744_073_709_551_615
used: true
spare: &wheel {size: 16, maker: acme}
wheels: [*wheel, 17, 1.8e1]
radio: {kind: fm, gain: 3, name: my radio}
`)
	testkit.OK(t, err)
	want := vehicle{Name: "70", Colour: "red", Top: 120.5, Load: 0.25, Seats: 4, Serial: 1<<64 - 1,
		Used:  true,
		Spare: &wheel{16, "acme"}, Wheels: []wheel{{16, "acme"}, {Size: 17}, {Size: 18}},
		Radio: extra{"fm", map[string]string{"gain": "3", "name": "my radio"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !doc.Has("wheels.1.size") || doc.Has("wheels.1.maker") {
		t.Error("the short form sets size alone")
	}
	if p := doc.Problem("spare.age", "too old"); p.Error() != "car.yaml:9: spare.age: too old" {
		t.Errorf("a problem is placed at the field around it: %v", p)
	}
}

func TestSet(t *testing.T) {
	const file = "seats: 4\nspare: &w 16\nwheels: [*w, {size: 17}]\nradio: fm\n"
	got, doc, err := read(file, "seats=5", "spare.maker=acme", "wheels.0.size=18", "radio.gain=2",
		"colour=blue", "wheels.1={maker: zed}")
	testkit.OK(t, err)
	want := vehicle{Seats: 5, Colour: "blue", Spare: &wheel{16, "acme"},
		Wheels: []wheel{{Size: 18}, {Maker: "zed"}},
		Radio:  extra{"fm", map[string]string{"gain": "2"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := doc.Problem("colour", "ugly"); p.Error() != "--set colour: ugly" {
		t.Errorf("a problem with an override names the override: %v", p)
	}
}

func TestBadSet(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"seats", `--set "seats": want key.path=value, such as workload.rate=2/s`},
		{"=3", `--set "=3": want key.path=value, such as workload.rate=2/s`},
		{"seats=", "--set seats: has no value"},
		{"seats=[", `--set seats: "[" is not YAML`},
		{"seats=x", `--set seats: found "x"; want a whole number`},
		{"seat=3", `--set seat: unknown key "seat"; did you mean seats?`},
		{"spare.sise=3", `--set spare.sise: unknown key "sise"; did you mean size?`},
		{"spare={sise: 3}", `--set spare: unknown key "sise"; did you mean size?`},
		{"seats.front=2", `--set seats.front: no key "front" here: the value around it is "4"`},
		{"wheels.7=2", `--set wheels.7: no item "7"; the list has 1, counted from 0`},
		{"wheels.0.size=0", "--set wheels.0.size: found 0; must be at least 1"},
	} {
		_, _, err := read("seats: 4\nwheels: [16]\n", c.set)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.set, err, c.want)
		}
	}
}

// Any vehicle survives being written and read, and the values marked as defaults are exactly those
// said to be.
func TestEncodeDecodeRoundTrip(t *testing.T) {
	words := rapid.SampledFrom([]string{"", "a", "null", "true", "1e3", "two words", "# no comment",
		"a: b", "ü\n", "~", "'"})
	rapid.Check(t, func(t *rapid.T) {
		wheels := rapid.Custom(func(t *rapid.T) wheel {
			return wheel{Size: rapid.IntRange(1, 30).Draw(t, "size"), Maker: words.Draw(t, "maker")}
		})
		want := vehicle{
			Name:   words.Draw(t, "name"),
			Colour: rapid.SampledFrom([]string{"", "red", "blue"}).Draw(t, "colour"),
			Top:    speed(rapid.Float64Range(0, 300).Draw(t, "top")), Load: rapid.Float64Range(0,
				0.99).Draw(t, "load"),
			Seats: rapid.IntRange(1, 9).Draw(t, "seats"), Serial: rapid.Uint64().Draw(t, "serial"),
			Used:  rapid.Bool().Draw(t, "used"),
			Spare: rapid.Ptr(wheels, true).Draw(t, "spare"), Wheels: rapid.SliceOfN(wheels, 1,
				3).Draw(t, "wheels"),
		}
		if more := words.Draw(t, "more"); more != "" {
			want.Radio = extra{"fm", map[string]string{"gain": more}}
		}
		isDefault := rapid.Bool().Draw(t, "default")
		text, err := Encode(want, func(path string) bool { return path != "seats" || !isDefault })
		testkit.OK(t, err)
		if marked := strings.Contains(string(text),
			fmt.Sprintf("seats: %d # default\n", want.Seats)); marked != isDefault {
			t.Fatalf("seats marked as default: %v, want %v\n%s", marked, isDefault, text)
		}
		got, _, err := read(string(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("seats: 4\nspare: &w 16\nwheels: [*w, {size: 17}]\n", "wheels.0.size=3")
	f.Add("a: &a [*a]\n<<: {b: 1}\n? {x: y}\n: z\n", "spare={size: &x [*x]}")
	f.Fuzz(func(t *testing.T, text, set string) {
		var v vehicle
		var err error
		testkit.Bounded(t, len(text)+len(set), func() { v, _, err = read(text, set) })
		if err != nil {
			if problems, ok := err.(Problems); !ok ||
				slices.ContainsFunc(problems,
					func(p Problem) bool { return p.Where == "" || p.Message == "" }) {
				t.Fatalf("a problem without place or message: %#v", err)
			}
			return
		}
		if v.Seats < 0 || v.Seats > 9 || v.Load < 0 || v.Load >= 1 {
			t.Fatalf("out of range: %+v", v)
		}
	})
}

// Text that would act on a terminal is refused wherever a scenario takes text, and shown escaped.
func TestControlCharactersAreRefused(t *testing.T) {
	for _, text := range []string{
		`name: "\e[2Jcar"`, `name: "\u009b2Jcar"`, `colour: "re\0d"`,
		`wheels: [{size: 1, maker: "\a"}]`, `radio: {policy: fm, gain: "\e]0;x\a"}`,
	} {
		doc, err := Parse("car.yaml", []byte(text))
		if err == nil {
			err = doc.Decode(new(vehicle))
		}
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\a\u009b") ||
			!strings.Contains(err.Error(), "control character") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

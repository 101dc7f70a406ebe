package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llmsim/llmsim/internal/nearest"
)

// declare adds flags to a command, one for each field with a tag of the structs that groups point
// to. The tag says the flag's name (flag), its words in --help (usage), its value where it is not
// given (default; without that, what the field holds), the words that it takes (choice; the first
// is the default), the least of a whole number (least; the most is 1 << 22), and whether it must be
// given (required). A list of words repeats the flag; with split it is parted at commas too. Flags
// that no tag can say are added by the group's method add, if it has one.
func declare(cmd *cobra.Command, groups ...any) *cobra.Command {
	for _, group := range groups {
		fields := reflect.ValueOf(group).Elem()
		for _, field := range reflect.VisibleFields(fields.Type()) {
			if field.Tag.Get("flag") != "" {
				// The structs are private to this package, and so are their fields, which
				// reflection sets only through a pointer of its own.
				at := fields.FieldByIndex(field.Index).Addr().UnsafePointer()
				declareField(cmd, reflect.NewAt(field.Type, at), field.Tag)
			}
		}
		if own, ok := group.(interface{ add(*cobra.Command) }); ok {
			own.add(cmd)
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { // --help says one default of a flag
		if !strings.Contains(f.Usage, "(default: ") {
			return
		}
		switch _, list := f.Value.(pflag.SliceValue); {
		case list:
			f.DefValue = "[]"
		case f.Value.Type() == "int":
			f.DefValue = "0"
		default:
			f.DefValue = ""
		}
	})
	return cmd
}

// declareField adds the flag of a field, given a pointer to it.
func declareField(cmd *cobra.Command, field reflect.Value, tag reflect.StructTag) {
	f := cmd.Flags()
	name, usage := tag.Get("flag"), tag.Get("usage")
	least, unbounded := strconv.Atoi(tag.Get("least"))
	switch to := field.Interface().(type) {
	case *bool:
		f.BoolVar(to, name, *to, usage)
	case *int:
		if unbounded != nil {
			f.IntVar(to, name, *to, usage)
		} else {
			f.Var(countFrom(least, to), name, usage)
		}
	case *uint64:
		f.Uint64Var(to, name, *to, usage)
	case *float64:
		f.Float64Var(to, name, *to, usage)
	case *time.Duration:
		f.DurationVar(to, name, *to, usage)
	case *[]int:
		if unbounded != nil {
			f.IntSliceVar(to, name, *to, usage)
		} else {
			f.Var(counts(to), name, usage)
		}
	case *[]string:
		if tag.Get("split") != "" {
			f.StringSliceVar(to, name, *to, usage)
		} else {
			f.StringArrayVar(to, name, *to, usage)
		}
	default:
		words := field.Convert(reflect.TypeFor[*string]()).Interface().(*string)
		if allowed := tag.Get("choice"); allowed != "" {
			f.Var(choice(words, strings.Split(allowed, ",")...), name, usage)
		} else {
			f.StringVar(words, name, *words, usage)
		}
	}
	if otherwise := tag.Get("default"); otherwise != "" {
		flag := f.Lookup(name)
		if err := flag.Value.Set(otherwise); err != nil {
			panic(fmt.Sprintf("default of --%s: %v", name, err))
		}
		flag.DefValue = flag.Value.String()
	}
	if tag.Get("required") != "" {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// flagValue is a flag of a kind of our own. It implements pflag.Value.
type flagValue struct {
	kind string // in --help
	text func() string
	set  func(text string) error
}

func (v flagValue) String() string { return v.text() }

// Type implements pflag.Value.
func (v flagValue) Type() string { return v.kind }

// Set stores a value, or refuses it.
func (v flagValue) Set(text string) error { return v.set(text) }

// choice returns a flag that takes one of a few words, the first being the default.
func choice(to *string, allowed ...string) flagValue {
	*to = allowed[0]
	return flagValue{"word", func() string { return *to }, func(word string) error {
		if !slices.Contains(allowed, word) {
			known := slices.DeleteFunc(slices.Clone(allowed),
				func(w string) bool { return w == "" })
			return errors.New(nearest.Unknown("word", word, known))
		}
		*to = word
		return nil
	}}
}

// oneOf refuses a first argument that is not one of a few words.
func oneOf(allowed ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if !slices.Contains(allowed, args[0]) {
			return errors.New(nearest.Unknown("list", args[0], allowed))
		}
		return nil
	}
}

// most bounds counts of tokens and sequences on the command line.
const most = 1 << 22

// counts returns a flag that takes whole numbers from 1, separated by commas.
func counts(to *[]int) flagValue {
	text := func() string {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(*to), " ", ","), "[]")
	}
	return flagValue{"numbers", text, func(text string) error {
		var list []int
		for word := range strings.SplitSeq(text, ",") {
			n, err := parseCount(word, 1)
			if err != nil {
				return err
			}
			list = append(list, n)
		}
		*to = list
		return nil
	}}
}

// countFrom returns a flag for a whole number from a least one.
func countFrom(least int, to *int) flagValue {
	return flagValue{"number", func() string { return strconv.Itoa(*to) }, func(text string) error {
		n, err := parseCount(text, least)
		if err == nil {
			*to = n
		}
		return err
	}}
}

func parseCount(word string, least int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(word))
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("found %q, want a whole number from %d to %d", word, least, most)
	}
	return n, nil
}

// noLimit is the most arguments of a command that takes any number.
const noLimit = -1

// arguments refuses fewer arguments than the least and more than the most, and says what the
// command takes, with its first example.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n < least:
			name := strings.TrimSuffix(strings.Fields(cmd.Use)[1+n], "…")
			return fmt.Errorf("%s is missing: %s", name, usage(cmd))
		case most != noLimit && n > most:
			return fmt.Errorf("%q is one argument too many: %s", args[most], usage(cmd))
		}
		return nil
	}
}

// usage returns how a command is called, with its first example.
func usage(cmd *cobra.Command) string {
	_, takes, _ := strings.Cut(cmd.Use, " ")
	text := strings.TrimSpace("want " + cmd.CommandPath() + " " + takes)
	if example, _, _ := strings.Cut(cmd.Example, "\n"); example != "" {
		text += ", such as " + strings.TrimSuffix(strings.TrimSpace(example), ` \`)
	}
	return text
}

// strictFlag is the flag --strict, with which nothing may be lost between a fleet and the files
// that start it.
type strictFlag struct {
	on    bool
	reads string // the flag that reads such files
}

func (s *strictFlag) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.on, "strict", false, "exit with code 2 where "+s.reads+
		" leaves out a flag, or --emit a part of the fleet")
}

// refuse returns an error that names what is lost, if something is.
func (s strictFlag) refuse(words string, lost []string) error {
	if !s.on || len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("--strict: %s %s", words, strings.Join(lost, "; "))
}

// Package strict reads YAML into Go structs. It reports unknown and duplicate keys, wrong types,
// missing units and values out of range, with file, line, field path and what is allowed. Only this
// package and the reader of the hardware catalogue use the YAML library.
//
// Structs describe their keys by tags:
//
//	json:"token-budget"   the key
//	short:"true"          the field that a scalar sets where the struct is expected:
//	                      `prompt: 512`
//	rest:"true"           a map[string]string that takes the keys that no other field has
//	min:"0" above:"0" max:"1" below:"1"   the range of a number
//	enum:"a,b,c"          the allowed words
//	kind:"true"           the word that decides which of the other keys apply; the first of its
//	                      enum where it is not given
//	only:"a,b"            the key applies to these kinds only
//	need:"a,b"            the key applies to these kinds only, and must be given
//	required:"true"       the key must be given
//	required:"unless key" it must be given where the other key is not
//	except:"a,b"          keys and words of the mapping that have no meaning here. Schemas and
//	                      lists leave them out; the reader of the file refuses them, with a reason
//	jsonschema:"…"        the meaning, with the unit
//
// A struct of settings, such as a policy's, has these tags besides:
//
//	default:"8192"        the value of a key that is not given
//	engine:"max_num_seqs" what the engine calls it
//	role:"sequences"      what other parts of the program read it for (package policies)
//	tune:"16.."           the values that a search for better settings tries
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Document is a parsed YAML file with the place of each value.
type Document struct {
	name string
	root *yaml.Node
	// overrides says which values came from the command line, and under which key.
	overrides map[*yaml.Node]string
	// places holds, after Decode, the node of every field path that the document sets, and changed
	// the paths of the fields that overrides set in whole or in part.
	places  map[string]*yaml.Node
	changed map[string]bool
}

// MostText is the largest size of a file in bytes. The longest files that people write have about
// ten thousand. The YAML library takes a hundred times the memory of the text.
const MostText = 1 << 20

// Parse reads the one document of a YAML file; name is its name in messages. Without a name, for
// YAML that a program wrote, messages name neither file nor line.
func Parse(name string, data []byte) (*Document, error) {
	if len(data) > MostText {
		return nil, Problems{{Where: name, Message: fmt.Sprintf(
			"the file has more than %d bytes, the most that is read", MostText)}}
	}
	doc := &Document{name: name, overrides: map[*yaml.Node]string{},
		places: map[string]*yaml.Node{}, changed: map[string]bool{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var node yaml.Node
	if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
		return nil, Problems{{Where: name, Message: "the file is empty"}}
	} else if err != nil {
		return nil, syntaxProblem(name, err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, Problems{{Where: fmt.Sprintf("%s:%d", name, second.Line),
			Message: "a second YAML document starts here; a file holds one"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(name, err)
	}
	doc.root = node.Content[0]
	if doc.root.Kind == yaml.ScalarNode && doc.root.Tag == "!!null" {
		return nil, Problems{{Where: name, Message: "the file is empty"}}
	}
	if doc.root.Kind != yaml.MappingNode {
		return nil, Problems{{Where: doc.where(doc.root), Message: "found " + describe(doc.root) +
			"; want a mapping of keys to values"}}
	}
	return doc, nil
}

// Has reports whether the document, or an override, sets the field. It may be called after Decode
// only.
func (d *Document) Has(path string) bool { return d.places[path] != nil }

// Overridden reports whether an override sets the field or a part of it. It may be called after
// Decode only.
func (d *Document) Overridden(path string) bool { return d.changed[path] }

// noteChanges finds the fields that overrides set.
func (d *Document) noteChanges() {
	for at, n := range d.places {
		if _, yes := d.overrides[n]; !yes {
			continue
		}
		for ; at != "" && !d.changed[at]; at = at[:max(0, strings.LastIndexByte(at, '.'))] {
			d.changed[at] = true
		}
	}
}

// Problem returns a problem with the field, placed where the field, or the nearest one around it,
// is set.
func (d *Document) Problem(path, format string, args ...any) Problem {
	p := Problem{Where: d.name, Path: path, Message: fmt.Sprintf(format, args...)}
	for at := path; at != ""; at = at[:max(0, strings.LastIndexByte(at, '.'))] {
		if n := d.places[at]; n != nil {
			p.Where = d.where(n)
			break
		}
	}
	return p
}

// where names the place of a node.
func (d *Document) where(n *yaml.Node) string {
	if key, ok := d.overrides[n]; ok {
		return overrideName(key)
	}
	if d.name == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", d.name, n.Line)
}

// syntaxProblem turns the YAML library's "yaml: line 3: …" into a problem with a line. The library
// leaves the first line out, and counts from 0 where its parser, not its scanner, complains.
func syntaxProblem(name string, err error) Problems {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		line, _ = strconv.Atoi(m[1])
		if strings.HasPrefix(text, "did not find expected") {
			line++
		}
	}
	return Problems{{Where: fmt.Sprintf("%s:%d", name, line), Message: "not YAML: " + text}}
}

// describe names a node for a message.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return quote(n.Value)
}

// Problem is one thing that is wrong with the input.
type Problem struct {
	// Where is "FILE:LINE", "FILE" where no line applies, "--set KEY" for a value from the command
	// line, or empty.
	Where string
	// Path is the field, such as "workload.rate"; empty for the file as a whole.
	Path string
	// Message says what was found and what is allowed.
	Message string
}

// Error returns "WHERE: PATH: MESSAGE".
func (p Problem) Error() string {
	text := p.Message
	if p.Path != "" && p.Where != overrideName(p.Path) {
		text = p.Path + ": " + text
	}
	if p.Where != "" {
		text = p.Where + ": " + text
	}
	return text
}

// Problems lists all problems of the input, in the order of the file.
type Problems []Problem

// mostProblems is the largest number of problems to list. Nobody corrects more at once.
const mostProblems = 20

// Error returns one problem a line, the first of them where there are many.
func (ps Problems) Error() string {
	var lines []string
	for i, p := range ps {
		if i == mostProblems {
			lines = append(lines, "there may be more; mend these first")
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// orNil returns the problems as an error, nil without problems.
func (ps Problems) orNil() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func overrideName(path string) string { return "--set " + path }

// quote shows a value as the user wrote it, cut short where it is long.
func quote(text string) string {
	const longest = 60
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

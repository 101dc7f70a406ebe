package options

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/llmsim/llmsim/internal/launch/commands"
)

// field is a value of a configuration file.
type field struct {
	path, file string
	node       *yaml.Node
}

// configured returns words with the words of the configuration file that they name, or the fields
// of one that stands above the flags.
//
// vLLM and SGLang read a file of flags, which stand before the command's
// (vllm/utils/argparse_utils.py, v0.15, _pull_args_from_config;
// sglang/srt/server_args_config_parser.py, v0.5); TensorRT-LLM reads one of fields.
func (r *Reading) configured(words []string) ([]string, []field, error) {
	for i, word := range words {
		flag, name, joined := strings.Cut(word, "=")
		o, _ := r.table.lookUp(flag)
		if o == nil || o.Term != "config" || !joined && i+1 == len(words) {
			continue
		}
		after := i + 1
		if !joined {
			name, after = words[i+1], i+2
		}
		rest := slices.Concat(words[:i], words[after:])
		if err := commands.Closed(name); err != nil && r.aboveFlags() {
			r.ignore(flag, "%s was left out: %v; its enable_attention_dp is parallelism.data, its "+
				"kv_cache_config.dtype engine.kv-cache: set these", flag, err)
			return rest, nil, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", flag, err)
		}
		fields, err := r.open(flag, name)
		if err != nil || r.aboveFlags() {
			return rest, fields, err
		}
		return slices.Concat(flagsOf(fields), rest), nil, nil
	}
	return words, nil, nil
}

// aboveFlags reports whether the configuration file has fields of its own, which stand above flags.
func (r *Reading) aboveFlags() bool { return r.table.Engine == "trtllm" }

// open returns the fields at the top of a configuration file.
func (r *Reading) open(flag, name string) ([]field, error) {
	text, found := r.command.File(path.Base(name))
	var document yaml.Node
	var err error
	if found {
		err = commands.Unmarshal(text, &document)
	}
	top := resolved(&document)
	switch {
	case !found && r.aboveFlags():
		r.ignore(name, "%s is not at hand: its enable_attention_dp is parallelism.data, its "+
			"kv_cache_config.dtype engine.kv-cache; set these", name)
		return nil, nil
	case !found:
		return nil, fmt.Errorf("%s: the file %s is not at hand: put it beside the file of the "+
			"command, or write its options into the command", flag, name)
	case err == nil && top.Kind != yaml.MappingNode && top.Kind != 0:
		err = fmt.Errorf("it is no mapping of names to values")
	}
	if err != nil && r.aboveFlags() {
		r.ignore(name, "%s was left out: %v", name, err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return fieldsOf("", name, top), nil
}

// resolved returns the node that an alias means: the root of a document, or what an alias names.
func resolved(node *yaml.Node) *yaml.Node {
	switch {
	case node.Kind == yaml.DocumentNode && len(node.Content) > 0:
		return node.Content[0]
	case node.Kind == yaml.AliasNode:
		return node.Alias
	}
	return node
}

// fieldsOf returns the fields of a mapping.
func fieldsOf(before, file string, mapping *yaml.Node) (list []field) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		list = append(list, field{before + mapping.Content[i].Value, file,
			resolved(mapping.Content[i+1])})
	}
	return list
}

// flagsOf returns the flags that fields stand for.
func flagsOf(fields []field) (words []string) {
	for _, f := range fields {
		flag := "--" + f.path
		switch node := f.node; {
		case node.Kind == yaml.SequenceNode:
			words = append(words, flag)
			for _, item := range node.Content {
				words = append(words, item.Value)
			}
		case node.Kind == yaml.MappingNode:
			var value any
			if err := node.Decode(&value); err == nil {
				text, _ := json.Marshal(value)
				words = append(words, flag, string(text))
			}
		case node.Tag == "!!bool" && isTrue(node):
			words = append(words, flag)
		case node.Tag == "!!bool":
			words = append(words, "--no-"+f.path)
		default:
			words = append(words, flag+"="+node.Value)
		}
	}
	return words
}

// isTrue reports whether a scalar is true.
func isTrue(node *yaml.Node) bool {
	var value bool
	return node.Decode(&value) == nil && value
}

// mostFields bounds the fields of a configuration file that are read.
const mostFields = 2000

// takeFields applies the fields of a configuration file. A field that has the name of a flag means
// the same.
func (r *Reading) takeFields(fields []field) error {
	for n := 0; len(fields) > 0 && n < mostFields; n++ {
		f := fields[0]
		fields = fields[1:]
		o := r.table.known["."+f.path]
		if o == nil {
			o, _ = r.table.lookUp("--" + f.path)
		}
		switch {
		case o != nil && o.Term == "" && o.Note == "":
		case f.node.Kind == yaml.MappingNode && (o == nil || o.Note == ""):
			fields = append(fieldsOf(f.path+".", f.file, f.node), fields...)
		case o == nil:
			r.ignore(f.path, "%s of %s was left out: a scenario has nothing for it", f.path, f.file)
		default:
			if err := r.takeField(o, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeField applies a field of an option. One that is not set, null, says nothing, unless that is
// what its option is for.
func (r *Reading) takeField(o *Option, f field) error {
	value := f.node.Value
	if f.node.Kind == yaml.SequenceNode {
		var items []string
		for _, item := range f.node.Content {
			items = append(items, item.Value)
		}
		value = strings.Join(items, " ")
	}
	absent := f.node.Tag == "!!null" || value == "0" || value == ""
	switch {
	case o.Kind == "none" && f.node.Tag != "!!null", o.Kind != "none" && absent && o.Note == "":
		return nil
	case o.isSwitch() && !isTrue(f.node) && o.Off == "":
		return nil
	}
	return r.take(o, f.path, value, o.isSwitch() && !isTrue(f.node))
}

// fieldsText returns a configuration file with fields by their paths, in turn with their values.
func fieldsText(pairs [][2]string) string {
	top := &yaml.Node{Kind: yaml.MappingNode}
	for _, pair := range pairs {
		at, names := top, strings.Split(pair[0], ".")
		for _, name := range names[:len(names)-1] {
			at = inner(at, name)
		}
		last := &yaml.Node{Kind: yaml.ScalarNode, Value: names[len(names)-1]}
		at.Content = append(at.Content, last, &yaml.Node{Kind: yaml.ScalarNode, Value: pair[1]})
	}
	text, err := yaml.Marshal(top)
	if err != nil {
		panic(err) // a tree of names and scalars
	}
	return string(text)
}

// inner returns the mapping of a name in a mapping, which it adds where it is absent.
func inner(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	value := &yaml.Node{Kind: yaml.MappingNode}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
	return value
}

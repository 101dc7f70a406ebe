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

// Package safetensors reads and writes the safetensors file format
// (github.com/huggingface/safetensors): eight bytes that give the length of a JSON header, the
// header with the name, format, shape and place of every tensor, and the data.
//
// The header of a file from elsewhere is not trusted: lengths, shapes and offsets are checked
// against each other and against the size of the file before anything is allocated from them.
package safetensors

package tokenizer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/llmsim/llmsim/internal/files/filestest"
	"github.com/llmsim/llmsim/internal/must"
)

// writePublished writes the published vocabulary as vocab.json and merges.txt, as Hugging Face has
// them. The pair that a token is merged from is what remains when it is encoded with the merges
// before.
func writePublished(t testing.TB, dir string) {
	t.Helper()
	p, err := newPublished()
	must.OK(t, err)
	b := newBPE()
	b.ranks = map[pair]int{}
	merges := []string{"#version: 0.2"}
	for id := range int32(publishedVocab - 1) {
		text, err := p.Decode(id)
		must.OK(t, err)
		var parts []string
		for _, c := range text {
			parts = append(parts, b.spell[c])
		}
		b.tokens[strings.Join(parts, "")] = id
		if len(parts) > 1 {
			parts = b.merge(parts)
			if len(parts) != 2 {
				t.Fatalf("token %d %q comes from %d parts", id, text, len(parts))
			}
			merges = append(merges, parts[0]+" "+parts[1])
			b.ranks[pair{parts[0], parts[1]}] = int(id)
		}
	}
	b.tokens[endOfText] = publishedVocab - 1
	data, err := json.Marshal(b.tokens)
	must.OK(t, err)
	write(t, dir, "vocab.json", string(data))
	write(t, dir, "merges.txt", strings.Join(merges, "\n")+"\n")
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// FuzzFiles checks that a vocabulary is refused or encodes any text in tokens that decode to it.
func FuzzFiles(f *testing.F) {
	f.Add(`{"a": 0, "b": 1, "ab": 2}`, "#version: 0.2\na b\n", "abab")
	f.Add(`{"a": -1}`, "a  b\n", "")
	// the vocabulary of a file is added to the single bytes, without which none is accepted
	base := newBPE()
	var bytes []string
	for i, s := range base.spell {
		bytes = append(bytes, fmt.Sprintf("%q: %d", s, 1000+i))
	}
	f.Fuzz(func(t *testing.T, vocab, merges, text string) {
		dir := t.TempDir()
		write(t, dir, "vocab.json", "{"+strings.Join(bytes, ",")+","+strings.TrimPrefix(vocab, "{"))
		write(t, dir, "merges.txt", merges)
		filestest.Bounded(t, len(vocab)+len(merges)+len(text), func() {
			k, err := ForModel(dir, 1<<30)
			if err != nil {
				return
			}
			tokens, err := k.Encode(text)
			must.OK(t, err)
			var decoded []byte
			for _, token := range tokens {
				piece, err := k.Decode(token)
				must.OK(t, err)
				decoded = append(decoded, piece...)
			}
			if string(decoded) != text {
				t.Fatalf("%q comes back as %q", text, decoded)
			}
		})
	})
}

// FuzzEncode checks that vocab.json and merges.txt, the built-in vocabulary and the tiktoken
// library encode any text alike, and that the tokens decode to the text.
func FuzzEncode(f *testing.F) {
	dir := f.TempDir()
	writePublished(f, dir)
	files, err := ForModel(dir, publishedVocab)
	must.OK(f, err)
	builtIn, err := ForModel(f.TempDir(), publishedVocab)
	must.OK(f, err)
	library, err := tokenizer.Get(tokenizer.R50kBase)
	must.OK(f, err)
	for _, text := range []string{
		"", " ", "Hello, world!", "I'll say it's they've  been 're 'LL", "  two   spaces ",
		"tabs\tand\n\nlines \n x", "naïve café ½ ２ 二",
		"日本語のテキスト", "🙂👍🏽", "<|endoftext|>", "x\u00a0y\u2003 z", "....---===", "12345 678",
		"\r\n\r\n", strings.Repeat("a", 300), "'", "''s",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := files.Encode(text)
		must.OK(t, err)
		var decoded []byte
		for _, token := range got {
			part, err := files.Decode(token)
			must.OK(t, err)
			decoded = append(decoded, part...)
		}
		if string(decoded) != text {
			t.Fatalf("%q decodes to %q", text, decoded)
		}
		if other, err := builtIn.Encode(text); err != nil || !slices.Equal(got, other) {
			t.Fatalf("%q: %v, the built-in vocabulary gives %v, %v", text, got, other, err)
		}
		if strings.ToValidUTF8(text, "") != text || strings.ContainsFunc(text, unsettled) {
			return
		}
		ids, _, err := library.Encode(text)
		must.OK(t, err)
		if !slices.EqualFunc(got, ids, func(a int32, b uint) bool { return uint(a) == b }) {
			t.Fatalf("%q: %v, the library gives %v", text, got, ids)
		}
	})
}

// unsettled reports whether the library drops a character, or classes it otherwise than the
// reference implementation.
func unsettled(r rune) bool { return r == 0x7f }

// TestPublished checks a few encodings that are widely published for GPT-2.
func TestPublished(t *testing.T) {
	p, err := newPublished()
	must.OK(t, err)
	for text, want := range map[string][]int32{
		"Hello, world!":         {15496, 11, 995, 0},
		"Hello, my dog is cute": {15496, 11, 616, 3290, 318, 13779},
		"The quick brown fox":   {464, 2068, 7586, 21831},
		"Once upon a time":      {7454, 2402, 257, 640},
	} {
		got, err := p.Encode(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	if text, err := p.Decode(50256); string(text) != endOfText || err != nil {
		t.Errorf("token 50256 is %q, %v", text, err)
	}
	for _, token := range []int32{-1, 50257} {
		if _, err := p.Decode(token); err == nil {
			t.Errorf("no error for token %d", token)
		}
	}
}

func TestBadVocabulariesAreErrors(t *testing.T) {
	bytes := map[string]int32{}
	for i, s := range spelling() {
		bytes[s] = int32(i)
	}
	full, err := json.Marshal(bytes)
	must.OK(t, err)
	for name, c := range map[string]struct{ vocab, merges, want string }{
		"not JSON":      {"[", "", "vocab.json"},
		"missing bytes": {`{"a": 0}`, "", "no token for the byte"},
		"same number":   {strings.Replace(string(full), `"!":33`, `"!":34`, 1), "", "token 34"},
		"negative":      {strings.Replace(string(full), `"!":33`, `"!":-3`, 1), "", "token -3"},
		"too large": {strings.Replace(string(full), `"!":33`, `"!":999`, 1), "",
			"vocabulary of 256"},
		"one part":      {string(full), "a b\nab\n", "merges.txt:1"},
		"no pair":       {string(full), "#version: 0.2\nab\n", "merges.txt:2"},
		"unknown merge": {string(full), "#version: 0.2\na b\n", `"ab" is not in the vocabulary`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "vocab.json", c.vocab)
			write(t, dir, "merges.txt", c.merges)
			if _, err := ForModel(dir, 256); err == nil ||
				!strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
	dir := t.TempDir()
	write(t, dir, "vocab.json", string(full))
	if _, err := ForModel(dir, 256); err == nil {
		t.Error("no error without merges.txt")
	}
	if _, err := ForModel(t.TempDir(), 257); err == nil {
		t.Error("no error for a model with neither files nor the published vocabulary")
	}
}

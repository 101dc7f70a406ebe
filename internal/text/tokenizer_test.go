package text

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// writePublished writes the published vocabulary as vocab.json and merges.txt, as Hugging Face has
// them. The pair that a token is merged from is what remains when it is encoded with the merges
// before.
func writePublished(t testing.TB, dir string) {
	t.Helper()
	p, err := GPT2()
	testkit.OK(t, err)
	b := newBPE()
	b.ranks = map[pair]int{}
	merges := []string{"#version: 0.2"}
	for id := range int32(publishedVocab - 1) {
		text, err := p.Decode(id)
		testkit.OK(t, err)
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
	testkit.OK(t, err)
	write(t, dir, "vocab.json", string(data))
	write(t, dir, "merges.txt", strings.Join(merges, "\n")+"\n")
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
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
		testkit.Bounded(t, len(vocab)+len(merges)+len(text), func() {
			k, err := ForModel(dir, 1<<30)
			if err != nil {
				return
			}
			tokens, err := k.Encode(text)
			testkit.OK(t, err)
			if back := decode(t, k, tokens); back != text {
				t.Fatalf("%q comes back as %q", text, back)
			}
		})
	})
}

// FuzzEncode checks that vocab.json and merges.txt and the built-in vocabulary encode any text
// alike, and that the tokens, and those of cl100k_base, decode to the text.
func FuzzEncode(f *testing.F) {
	dir := f.TempDir()
	writePublished(f, dir)
	files, err := ForModel(dir, publishedVocab)
	testkit.OK(f, err)
	builtIn, err := ForModel(f.TempDir(), publishedVocab)
	testkit.OK(f, err)
	other, err := CL100K()
	testkit.OK(f, err)
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
		testkit.OK(t, err)
		if back := decode(t, files, got); back != text {
			t.Fatalf("%q decodes to %q", text, back)
		}
		if same, err := builtIn.Encode(text); err != nil || !slices.Equal(got, same) {
			t.Fatalf("%q: %v, the built-in vocabulary gives %v, %v", text, got, same, err)
		}
		tokens, err := other.Encode(text)
		testkit.OK(t, err)
		if back := decode(t, other, tokens); back != text {
			t.Fatalf("%q decodes to %q", text, back)
		}
	})
}

// decode returns the text of tokens.
func decode(t *testing.T, k *Tokenizer, tokens []int32) string {
	t.Helper()
	var text []byte
	for _, token := range tokens {
		part, err := k.Decode(token)
		testkit.OK(t, err)
		text = append(text, part...)
	}
	return string(text)
}

// Texts of letters of several scripts, digits, signs, white space and ends of lines in any order
// have the tokens that an independent implementation gave (github.com/tiktoken-go/tokenizer 0.10,
// which splits by the published patterns).
func TestTokensAreThoseOfAnotherImplementation(t *testing.T) {
	for name, open := range map[string]func() (*Tokenizer, error){"gpt2": GPT2, "cl100k": CL100K} {
		k, err := open()
		testkit.OK(t, err)
		data, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		testkit.OK(t, err)
		for line := range strings.Lines(string(data)) {
			end := strings.LastIndex(line, " [")
			text, err := strconv.Unquote(line[:end])
			testkit.OK(t, err)
			tokens, err := k.Encode(text)
			testkit.OK(t, err)
			if got, want := fmt.Sprint(tokens), strings.TrimSpace(line[end:]); got != want {
				t.Errorf("%s: %q: %s, want %s", name, text, got, want)
			}
		}
	}
}

// TestPublished checks a few encodings that are widely published for GPT-2.
func TestPublished(t *testing.T) {
	p, err := GPT2()
	testkit.OK(t, err)
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

// TestPublishedCL100K checks the encodings of OpenAI's cookbook ("How to count tokens with
// tiktoken").
func TestPublishedCL100K(t *testing.T) {
	k, err := CL100K()
	testkit.OK(t, err)
	for text, want := range map[string][]int32{
		"tiktoken is great!":           {83, 1609, 5963, 374, 2294, 0},
		"antidisestablishmentarianism": {519, 85342, 34500, 479, 8997, 2191},
		"2 + 2 = 4":                    {17, 489, 220, 17, 284, 220, 19},
		"お誕生日おめでとう": {33334, 45918, 243, 21990, 9080, 33334, 62004, 16556,
			78699},
	} {
		if got, err := k.Encode(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestBadVocabulariesAreErrors(t *testing.T) {
	bytes := map[string]int32{}
	for i, s := range spelling() {
		bytes[s] = int32(i)
	}
	full, err := json.Marshal(bytes)
	testkit.OK(t, err)
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

// The embedded vocabularies are the published ones: their sums are stated in openai/tiktoken,
// tiktoken_ext/openai_public.py (expected_hash).
func TestVocabulariesArePublished(t *testing.T) {
	for name, want := range map[string]string{
		"r50k_base":   "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
		"cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
	} {
		file, err := vocabularies.Open("vocabularies/" + name + ".tiktoken.gz")
		testkit.OK(t, err)
		unpacked, err := gzip.NewReader(file)
		testkit.OK(t, err)
		sum := sha256.New()
		_, err = io.Copy(sum, unpacked)
		testkit.OK(t, err)
		if got := hex.EncodeToString(sum.Sum(nil)); got != want {
			t.Errorf("%s has the sum %s, want %s", name, got, want)
		}
	}
}

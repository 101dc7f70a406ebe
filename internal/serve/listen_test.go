package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A request whose head was read before the server is told to end gets its whole answer, also where
// its body comes later than connections may take to close: the stream ends with its last event.
func TestWhatIsTakenIsAnswered(t *testing.T) {
	for _, wait := range []time.Duration{0, closing + 100*time.Millisecond} {
		i := open(t, small, func(o *Options) { o.Speed = 1 })
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testkit.OK(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- i.Serve(ctx, l, -1) }()

		c, err := net.Dial("tcp", l.Addr().String())
		testkit.OK(t, err)
		defer c.Close()
		testkit.OK(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		body := `{"prompt":"x","max_tokens":60,"ignore_eos":true,"stream":true}`
		fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n"+
			"Expect: 100-continue\r\n\r\n", len(body))
		r := bufio.NewReader(c)
		line, err := r.ReadString('\n') // the server asks for the body, so it has the request
		if err != nil || !strings.Contains(line, "100") {
			t.Fatalf("found %q, %v", line, err)
		}
		_, err = r.ReadString('\n')
		testkit.OK(t, err)
		stop()
		time.Sleep(wait)
		_, err = io.WriteString(c, body)
		testkit.OK(t, err)
		response, err := http.ReadResponse(r, nil)
		testkit.OK(t, err)
		text, err := io.ReadAll(response.Body)
		if err != nil || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
			t.Errorf("the body %v after the end was asked for: %.200s, %v", wait, text, err)
		}
		testkit.OK(t, <-ended)
	}
}

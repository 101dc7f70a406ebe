package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/playground/page"

	"github.com/spf13/cobra"
)

func playgroundCommand() *cobra.Command {
	var flags struct {
		listen string `flag:"listen" default:"127.0.0.1:8080" usage:"address to listen at; port 0 takes a free one"`
		out    string `flag:"out" usage:"file to write the page to, instead of serving it"`
	}
	return declare(&cobra.Command{
		Use:   "playground",
		Short: "Serve a page that simulates in the browser: a book, free play, plans of fleets",
		Long: "Serve a page on this machine that contains the simulator itself. It shows a book " +
			"that draws the machine and explains it, chapter by chapter; at its second door a " +
			"server at work, step by step, which is changed while it runs, and two servers " +
			"side by side; at its third it plans a fleet as llmsim plan does. With --out the " +
			"page is written to a file, which works from disk and from any web server, and " +
			"loads nothing else. A program that go install built holds no simulator for " +
			"browsers: it serves the same page, and simulates for it itself.",
		Example: `  llmsim playground
  llmsim playground --out playground.html`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.out != "" {
				text, err := page.HTML()
				if err != nil {
					return failed(err)
				}
				return failed(files.WriteBytes(flags.out, text, 0o666))
			}
			handler, err := page.Handler()
			if err != nil {
				return failed(err)
			}
			return failed(servePage(cmd, flags.listen, handler))
		},
	}, &flags)
}

// servePage serves the page until the command is interrupted.
func servePage(cmd *cobra.Command, listen string, handler http.Handler) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: handler}
	fmt.Fprintf(cmd.OutOrStdout(), "The playground is at http://%s/ until you press Ctrl-C.\n",
		listener.Addr())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return err
	case <-cmd.Context().Done():
		return errors.Join(server.Close(), cmd.Context().Err())
	}
}

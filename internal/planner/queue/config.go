package queue

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/llmsim/llmsim/scenarios"
)

// Config describes the server of the queue, and the workers of this process.
type Config struct {
	// Workers is the number of tasks that this process does at the same time. 0 leaves all tasks to
	// other processes, if others can take part; else it means one for each core.
	Workers int
	// URL is the address of a NATS server with JetStream, such as nats://user:password@host:4222.
	URL string
	// Listen is the address at which a server that this process starts listens for workers,
	// [host:]port; the default host is this machine. Without URL and Listen there is no server, and
	// no other process takes part.
	Listen string
	// Dir is a folder for the files of that server, emptied when it starts and removed when it
	// ends. Default: a temporary one.
	Dir string
	// Credentials is a file with a NATS user's JWT and key.
	Credentials string
	// CA, Cert and Key are PEM files for TLS: who is trusted, and who this process is.
	CA, Cert, Key string
	// KeyFile is the file of the key that planners and workers share. The key signs tasks and
	// results, and opens the server that a planner starts with Listen. The file is made if it is
	// missing. Default: llmsim/queue.key in the user's configuration folder.
	KeyFile string
	// Redeliver is how long a worker may be silent before its task is given to another. Default: 10
	// s.
	Redeliver time.Duration
	// version replaces the program's version in tests.
	version string
	// Log, if not nil, is called with messages for people, such as that the connection is lost.
	Log func(string)
}

// DefaultRedeliver is how long a worker may be silent.
const DefaultRedeliver = 10 * time.Second

func (c Config) complete() Config {
	c.Redeliver = cmp.Or(c.Redeliver, DefaultRedeliver)
	if c.Workers == 0 && !c.shared() {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	return c
}

// shared reports whether other processes may take part.
func (c *Config) shared() bool { return c.URL != "" || c.Listen != "" }

// where names the server, without its password.
func (c *Config) where() string {
	if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
		return u.Redacted()
	}
	return "this process"
}

// Check returns an error if parts of the configuration contradict each other.
func (c *Config) Check() error {
	switch {
	case c.URL != "" && c.Listen != "":
		return errors.New("--nats names a server and --listen starts one; give only one of the two")
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("--nats-cert and --nats-key go together; give both or none")
	case !c.shared() && c.KeyFile != "":
		return errors.New("--queue-key is for workers of other processes; give --nats or " +
			"--listen too")
	case !c.shared() && (c.Credentials != "" || c.CA != "" || c.Cert != ""):
		return errors.New("credentials and TLS are for a server that other machines reach; give " +
			"--nats or --listen too")
	case c.Listen != "" && c.CA != "" && c.Cert == "":
		return errors.New("--nats-ca with --listen asks workers for certificates; give the " +
			"server's --nats-cert and --nats-key too")
	}
	_, err := c.listen()
	return err
}

// address is where a server listens.
type address struct {
	host string
	port int
}

// listen reads Listen.
func (c *Config) listen() (address, error) {
	if c.Listen == "" {
		return address{}, nil
	}
	where := c.Listen
	if !strings.Contains(where, ":") {
		where = "127.0.0.1:" + where
	}
	host, text, err := net.SplitHostPort(where)
	if err != nil || text == "" || strings.Contains(host, "@") {
		return address{}, c.wrongListen()
	}
	a := address{host: cmp.Or(host, "127.0.0.1")}
	if a.port, err = net.LookupPort("tcp", text); err != nil {
		return address{}, c.wrongListen()
	}
	return a, nil
}

func (c *Config) wrongListen() error {
	return fmt.Errorf("--listen %q: want a port, such as 4222 for processes of this machine or "+
		"0.0.0.0:4222 for all; workers show that they have the key of --queue-key, and need no "+
		"password", c.Listen)
}

// connect connects to the server, which is the one that this process started if that is not nil.
func (c *Config) connect(own *hosted, k *key) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("llmsim"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.Log(fmt.Sprintf("the connection to %s is lost; trying again (%v)", c.where(),
					err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			c.Log("the connection to " + c.where() + " is back")
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.Log(err.Error())
		}),
	}
	if own != nil {
		return k.connect("", append(options, nats.InProcessServer(own)))
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		options = append(options, nats.ClientCert(c.Cert, c.Key))
	}
	connect := k.connect
	if u, err := url.Parse(c.URL); c.Credentials != "" || err == nil && u.User != nil {
		connect = plainConnect
	}
	conn, err := connect(c.URL, options)
	if errors.Is(err, nats.ErrAuthorization) {
		err = fmt.Errorf("%w; the server of a planner needs the planner's --queue-key, other "+
			"servers need a user and password or --nats-creds", err)
	}
	if err != nil {
		return nil, scenarios.BadInput(fmt.Errorf("--nats %s: %w", c.where(), err))
	}
	return conn, nil
}

// plainConnect connects as the user that the address or the options name.
func plainConnect(url string, options []nats.Option) (*nats.Conn, error) {
	return nats.Connect(url, options...)
}

// connect connects as the user that holders of the key can be, where the server asks for that.
func (k *key) connect(url string, options []nats.Option) (*nats.Conn, error) {
	pair, public, err := k.login()
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect(url, append(options, nats.Nkey(public, pair.Sign))...)
	if errors.Is(err, nats.ErrNkeysNotSupported) {
		return plainConnect(url, options)
	}
	return conn, err
}

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

// Config says where the queue is and who works.
type Config struct {
	// Workers is how many tasks this process does at the same time. 0 leaves all to others, where others can take part; else it is one
	// for each core.
	Workers int
	// URL is that of a NATS server with JetStream, such as nats://user:password@host:4222. Empty starts a server in this process.
	URL string
	// Listen is where that server listens for workers, [user:password@][host:]port; the host is this one unless given. Empty: no
	// other process reaches it.
	Listen string
	// Dir is a folder for the files of that server, emptied when it starts and removed when it ends. Default: a temporary one.
	Dir string
	// Credentials is a file with a NATS user's JWT and key.
	Credentials string
	// CA, Cert and Key are PEM files for TLS: who is trusted, and who this process is.
	CA, Cert, Key string
	// Redeliver is how long a worker may be silent before its task is given to another. Default: 10 s.
	Redeliver time.Duration
	// Log is told what people should know, such as that the connection is lost; nil tells nobody.
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

// shared tells whether other processes may take part.
func (c *Config) shared() bool { return c.URL != "" || c.Listen != "" }

// where names the server, without its password.
func (c *Config) where() string {
	if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
		return u.Redacted()
	}
	return "this process"
}

// Check tells whether the parts of the configuration fit together.
func (c *Config) Check() error {
	switch {
	case c.URL != "" && c.Listen != "":
		return errors.New("--nats names a server and --listen starts one; give one of the two")
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("--nats-cert and --nats-key go together; give both or none")
	case !c.shared() && (c.Credentials != "" || c.CA != "" || c.Cert != ""):
		return errors.New("credentials and TLS are for a server that others reach; give --nats or --listen too")
	case c.Listen != "" && c.CA != "" && c.Cert == "":
		return errors.New("--nats-ca with --listen asks workers for certificates; give the server's --nats-cert and --nats-key too")
	}
	_, err := c.listen()
	return err
}

// address is where a server listens.
type address struct {
	host, user, password string
	port                 int
}

// listen reads Listen. Others than processes of this machine need a password or a certificate.
func (c *Config) listen() (address, error) {
	if c.Listen == "" {
		return address{}, nil
	}
	wrong := fmt.Errorf("--listen %q: want a port, such as 4222 for processes of this machine, or user:password@0.0.0.0:4222 for all", c.Listen)
	who, where, named := strings.Cut(c.Listen, "@")
	if !named {
		who, where = "", c.Listen
	}
	if !strings.Contains(where, ":") {
		where = "127.0.0.1:" + where
	}
	host, port, err := net.SplitHostPort(where)
	if err != nil {
		return address{}, wrong
	}
	a := address{host: cmp.Or(host, "127.0.0.1")}
	if a.port, err = net.LookupPort("tcp", port); err != nil || port == "" {
		return address{}, wrong
	}
	if a.user, a.password, _ = strings.Cut(who, ":"); named && (a.user == "" || a.password == "") {
		return address{}, wrong
	}
	ip := net.ParseIP(a.host)
	if local := a.host == "localhost" || ip != nil && ip.IsLoopback(); !local && !named && c.CA == "" {
		return address{}, fmt.Errorf("--listen %s: other machines can reach this, so workers need a password, such as %s, or certificates (--nats-ca)", c.Listen, "user:password@"+where)
	}
	return a, nil
}

// connect connects to the server, which is that of this process where it is not nil.
func (c *Config) connect(local *localServer) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("llmsim"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.Log(fmt.Sprintf("the connection to %s is lost; trying again (%v)", c.where(), err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { c.Log("the connection to " + c.where() + " is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.Log(err.Error()) }),
	}
	if local != nil {
		a := local.address
		return nats.Connect("", append(options, nats.InProcessServer(local.server), nats.UserInfo(a.user, a.password))...)
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
	conn, err := nats.Connect(c.URL, options...)
	if err != nil {
		return nil, scenarios.BadInput(fmt.Errorf("--nats %s: %w", c.where(), err))
	}
	return conn, nil
}

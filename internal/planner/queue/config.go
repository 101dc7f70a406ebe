package queue

import (
	"cmp"
	"errors"
	"runtime"
	"time"
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

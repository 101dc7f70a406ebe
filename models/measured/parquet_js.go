package measured

import (
	"errors"
	"io/fs"
)

// eachOfParquet refuses the file. A page in a browser has no folders to read, and the library is
// larger than the simulator.
func eachOfParquet(fs.FS, string, func(*Row)) error {
	return errors.New("Parquet files are not read in a browser")
}

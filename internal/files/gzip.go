package files

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Damage says in words what is wrong with a gzip file that cannot be read further. It returns other
// errors as they are.
func Damage(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the gzip file is cut short")
	case errors.As(err, &corrupt):
		return fmt.Errorf("the gzip file is damaged at byte %d", int64(corrupt))
	case errors.Is(err, gzip.ErrChecksum):
		return errors.New("the gzip file is damaged: what it holds does not have its checksum")
	case errors.Is(err, gzip.ErrHeader):
		return errors.New("what follows in the gzip file is no gzip")
	}
	return err
}

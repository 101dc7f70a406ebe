package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// InputError is an error in the user's input: the scenario, overrides, or a file that they name.
type InputError struct{ err error }

// Error returns the message.
func (e InputError) Error() string { return e.err.Error() }

// Unwrap returns the error within.
func (e InputError) Unwrap() error { return e.err }

// BadInput marks an error as one in the user's input.
func BadInput(err error) error { return InputError{err} }

// IsInputError reports whether err is an error in the input rather than a failure of the run.
func IsInputError(err error) bool {
	var input InputError
	return errors.As(err, &input)
}

// plainPathError says what is wrong with a path in words, without the name of the system call.
func plainPathError(err error) error {
	var failed *fs.PathError
	if !errors.As(err, &failed) {
		return err
	}
	return fmt.Errorf("%s: %s", failed.Path, strings.TrimPrefix(failed.Err.Error(), failed.Op+" "))
}

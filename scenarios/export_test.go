package scenarios

// Current is current, for the tests that bring other packages together with this one.
var Current = current

// Package distil turns tables of measured kernels into the few constants that the program ships of
// each engine, accelerator and number format, and says how well their forms hold on kernels of
// shapes that were left out. It also compares the cost of each kind of token mixing with measured
// kernels and attention modules.
package distil

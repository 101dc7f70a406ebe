// Package distil turns tables of measured kernels into the few constants that the program ships of
// each engine, accelerator and number format, and says how well their forms hold on kernels of
// shapes that were left out.
package distil

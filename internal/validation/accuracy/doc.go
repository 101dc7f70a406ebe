// Package accuracy judges predictions beside measurements. A Comparison is a predicted figure
// beside the measured one, of a Place, and rests on Physics. A Report has the rows of all tables;
// its methods sum them up by table and by group, hold them to goals and recorded errors, and say
// how often the ranges of results hold what was measured.
package accuracy

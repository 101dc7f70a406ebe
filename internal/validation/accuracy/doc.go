// Package accuracy judges predictions beside measurements. A Report has the rows of all tables;
// its methods sum them up by table and by group, hold them to goals and recorded errors, and say
// how often the ranges of results hold what was measured.
package accuracy

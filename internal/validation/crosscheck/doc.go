// Package crosscheck runs a scenario twice: once with predicted steps, and once with GPT-2
// executing every step on this machine. Arrivals, queues and policies are the same code in both;
// only the clock differs. So the difference between the two is the error of the prediction, and of
// nothing else.
package crosscheck

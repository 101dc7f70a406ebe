// Package compared holds a predicted figure beside the measured one (Comparison), where its row
// stands (Place), and what the prediction rests on (Physics). Tables fill it, and judgements of
// them read it.
package compared

// Package speculation holds the policies of speculative decoding (Leviathan, Kalman and Matias,
// ICML 2023, arXiv:2211.17192; Chen et al., arXiv:2302.01318): a cheap drafter proposes tokens, and
// the model verifies them all in one step.
//
// A Speculator has four parts. An Acceptance says how likely drafted tokens are accepted. A Shape
// says whether drafts are chains or trees. A Drafter says what drafting costs. A Lengths decides
// how many tokens are drafted in each step. The package also has the closed forms of the papers, to
// which the simulation converges.
package speculation

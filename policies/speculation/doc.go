// Package speculation holds the policies of speculative decoding (Leviathan, Kalman and Matias,
// ICML 2023, arXiv:2211.17192; Chen et al., arXiv:2302.01318): a cheap drafter proposes tokens, and
// the model verifies them all in one step.
//
// A Speculator is put together from four parts: an Acceptance says how likely drafted tokens are
// accepted, a Shape whether drafts are chains or trees, a Drafter what drafting costs, and Lengths
// how many tokens are drafted when. The closed forms of the papers stand beside them, and the
// simulation converges to them.
package speculation

// Package words holds the test that keeps quaint words out of the project's
// texts: documents, and the comments and strings of its programs. It knows the
// words to avoid and what to write instead, and nothing of what the texts say.
package words

// Package engine knows the kinds of servers: which answer on which port and
// path, how to tell them apart, which questions say who they are, and what the
// names of their series mean in the exporter's words.
//
// One value answers everything about one kind. It is in the file that has the
// kind's name, or, where that is not enough, in several that begin with it. All
// other files hold what works for every kind; they name none and ask the value.
//
// The package keeps no state, no window and no clock, and does no I/O of its
// own: it asks through an [Asker].
package engine

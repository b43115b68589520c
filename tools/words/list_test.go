package words_test

// avoided is a wording that readers stumble over, with what to write instead.
// A blank in the pattern also matches the end of a line.
type avoided struct{ pattern, instead string }

// list is what the test refuses. It is meant to stay short: a wording is here
// because it was written more than once, not because somebody dislikes it.
var list = []avoided{
	{`lore`, "knowledge, assessment, or what it is about"},
	{`traits?`, "facts"},
	{`anew`, "again; of a process: restarts"},
	{`(doubts?|doubted|doubtful)`, "what is not certain, and why"},
	{`(thereof|whereof|wherein|herein|therein)`, "of it, of which, in which"},
	{`(whence|thence|hither|thither)`, "from where, from there"},
	{`(hath|betimes|forbade|lest|wont|midst|nigh)`, "has, early, did not allow, so that ... not, used to, in the middle, near"},
	{`shall`, "must, will, is to, should"},
	{`(stands?|stood)`, "is"},
	{`tells`, "says, exposes, reports; of a function: reports whether"},
	{`(is|are|was|were|be|been|being) told`, "gets, learns, is called with"},
	{`(tell|told) of`, "mentioned, reported"},
	{`(lie|lies|lay) (in|on|at|beside|next|under|behind|there|within)`, "is"},
	{`(bear|bears|bore)`, "has, carries, tolerates"},
	{`mend(s|ed)?`, "fix"},
	{`beside`, "next to, besides, in addition to, with, compared with"},
	{`lets nobody`, "refuses everyone"},
	{`(has|have|had) (its|his|their) say`, "has answered"},
	{`(has|have|had) it that`, "says that"},
	{`of the operator's`, "that the operator set"},
	{`(can|could|may|might|cannot|to) be had`, "is available, was found"},
	{`can not`, "cannot"},
	{`in the place of`, "instead of, in place of"},
	{`(to|until) the last`, "until the end"},
}

// allowed are wordings with such a word that everybody understands.
var allowed = []string{
	`stands? (in )?for`, `stands? still`, `stood still`, `stands? out`, `can not only`, `(bear|bears) in mind`,
	`tells (\w+ )?apart`, `tells (it|them|one) from`, `(to|until) the last (\w+|-)`,
}

// exempt are the places where the words may still be. It is empty when all of
// the project was read.
var exempt = []string{}

package exposition

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pieces of a class have the same room, an eighth more than any of them needs at
// most.
func TestAPieceHasRoomForAllOfItsClass(t *testing.T) {
	t.Parallel()
	rooms := map[int]int{}
	for n := range 1 << 18 {
		class, room := pieceClass(n)
		known, ok := rooms[class]
		again, same := pieceClass(room)
		switch { // Asserting each of a million facts takes two seconds.
		case class >= classes, ok && known != room, again != class, same != room:
			t.Fatalf("size %d: class %d of %d with room for %d, another had %d; its own room is of class %d with room for %d", n, class, classes, room, known, again, same)
		case room < n, room > max(1<<stepBits, n+n/(1<<stepBits)):
			t.Fatalf("size %d: room for %d", n, room)
		}
		rooms[class] = room
	}
	largest, room := pieceClass(1 << 62)
	require.Less(t, largest, classes)
	require.Equal(t, 1<<62, room)
}

func TestThePieceOfAHolderIsNobodyElses(t *testing.T) {
	t.Parallel()
	text := func(of byte) []byte {
		all := make([]byte, 100)
		for i := range all {
			all[i] = of
		}
		return all
	}
	var held []*piece
	for i := range byte(200) {
		one := newPiece(fingerprint{size: int(i)}, uint32(i), text(i))
		one.hold()
		one.hold()
		one.release()
		if i%2 == 0 {
			one.release()
			continue
		}
		held = append(held, one)
	}
	for at, one := range held {
		i := byte(2*at + 1)
		require.Equal(t, text(i), one.data)
		require.Equal(t, int(i), one.size)
		require.Equal(t, uint32(i), one.crc)
	}
}

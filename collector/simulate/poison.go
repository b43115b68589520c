package simulate

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
)

const (
	bombBytes     = 1 << 30
	bombMember    = 4 << 20
	longLineBytes = 32 << 20
)

// poison sends bodies that hurt a careless reader.
func poison(ctx context.Context, w http.ResponseWriter, fault Fault) {
	switch fault {
	case FaultGzipBomb:
		w.Header().Set("Content-Encoding", "gzip")
		// A gzip stream may have many members: one is made and sent again and again.
		var member bytes.Buffer
		z := gzip.NewWriter(&member)
		_, _ = z.Write(bytes.Repeat([]byte("# 0000000000000000000000000000\n"), bombMember/31))
		_ = z.Close()
		for n := 0; n < bombBytes && ctx.Err() == nil; n += bombMember {
			if _, err := w.Write(member.Bytes()); err != nil {
				return
			}
		}
	case FaultBadGzip:
		w.Header().Set("Content-Encoding", "gzip")
		writeBody(w, http.StatusOK, []byte("this is no gzip stream\n"))
	case FaultLongLine:
		_, _ = io.WriteString(w, `a{b="`)
		block := bytes.Repeat([]byte{'x'}, 1<<20)
		for n := 0; n < longLineBytes; n += len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, "\"} 1\n")
	default:
		noise := make([]byte, 0, 4096)
		for i := range 512 {
			h := mix(uint64(i), "noise")
			noise = append(noise, byte(h), byte(h>>8), byte(h>>16), byte(h>>24), byte(h>>32), 0, byte(h>>40), '\n')
		}
		writeBody(w, http.StatusOK, noise)
	}
}

// spoil changes the page itself.
func spoil(h http.Header, fault Fault, body []byte) []byte {
	body = bytes.Clone(body)
	half := len(body)/2 + bytes.IndexByte(body[len(body)/2:], '\n') + 1
	switch fault {
	case FaultCut:
		return body[:max(0, len(body)-7)]
	case FaultBadLine:
		return bytes.Join([][]byte{body[:half], []byte("this is { not a sample\n"), body[half:]}, nil)
	case FaultDuplicate:
		for line := range bytes.Lines(body) {
			if line[0] != '#' {
				return append(body, line...)
			}
		}
	case FaultBadUTF8:
		return append(body, "bad_label{model=\"\xff\xfe\"} 1\n"...)
	case FaultContentType:
		h.Set("Content-Type", "application/octet-stream")
	default:
	}
	return body
}

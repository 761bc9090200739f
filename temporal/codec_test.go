package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"ralph/internal/dispatch"
	"ralph/internal/project"
)

func keyFile(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCodecKeepsWhatItEncrypts(t *testing.T) {
	key := bytes.Repeat([]byte{7}, keySize)
	for name, data := range map[string][]byte{
		"raw": key, "base64": []byte(base64.StdEncoding.EncodeToString(key) + "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			var opts client.Options
			if err := encrypt(&opts, project.Project{}, keyFile(t, data)); err != nil {
				t.Fatal(err)
			}
			order := dispatch.Order{Attempt: "a-1", Title: strings.Repeat("the title ", 100)}
			p, err := opts.DataConverter.ToPayload(order)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(p.Data, []byte("title")) || len(p.Data) > 500 {
				t.Errorf("it is not compressed and encrypted: %d bytes", len(p.Data))
			}
			var got dispatch.Order
			if err := opts.DataConverter.FromPayload(p, &got); err != nil || got.Title != order.Title {
				t.Errorf("got %v, %v", got, err)
			}
			failure := opts.FailureConverter.ErrorToFailure(os.ErrPermission)
			if failure.GetMessage() != "Encoded failure" {
				t.Errorf("the server reads %q", failure.GetMessage())
			}
			if err := opts.FailureConverter.FailureToError(failure); plain(err) != os.ErrPermission.Error() {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCodecRefuses(t *testing.T) {
	c, _ := newCodec(bytes.Repeat([]byte{7}, keySize))
	other, _ := newCodec(bytes.Repeat([]byte{8}, keySize))
	text, _ := converter.GetDefaultDataConverter().ToPayload("hello")
	encode := func(c *codec) *commonpb.Payload {
		list, err := c.Encode([]*commonpb.Payload{text})
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	tampered, cut, lied := encode(c), encode(c), encode(other)
	tampered.Data[20] ^= 1
	cut.Data = cut.Data[:5]
	lied.Metadata[keyIDMetadata] = []byte(c.id)
	for name, test := range map[string]struct {
		payload *commonpb.Payload
		want    string
	}{
		"another key":              {encode(other), "is encrypted with key " + other.id},
		"another key that says it": {lied, "was changed"},
		"a changed byte":           {tampered, "was changed"},
		"a part":                   {cut, "cut off"},
		"plain text":               {text, "is not encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Decode([]*commonpb.Payload{test.payload}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	for name, path := range map[string]string{
		"short": keyFile(t, []byte("short")), "base64 of too little": keyFile(t, []byte("c2hvcnQ=")),
		"long": keyFile(t, bytes.Repeat([]byte{7}, 33)), "empty": keyFile(t, nil), "none": filepath.Join(t.TempDir(), "none"),
	} {
		if _, err := readCodec(path); err == nil || !strings.Contains(err.Error(), "temporal.codec_key") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"sync"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	keySize       = 32
	encodingName  = "binary/ralph-aes-gcm"
	keyIDMetadata = "ralph-key-id"
)

// codec encrypts what the server stores. It refuses what was not encrypted with its key: an order says what a worker runs,
// so that whoever can only write to the server must not be able to make one up.
type codec struct {
	aead cipher.AEAD
	id   string // of the key; says nothing about it
	once sync.Once
}

// readCodec takes the key from a file: 32 bytes, or their base64.
func readCodec(path string) (converter.PayloadCodec, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key of temporal.codec_key: %w", err)
	}
	key := data
	if len(key) != keySize {
		key, err = base64.StdEncoding.DecodeString(string(bytes.TrimSpace(data)))
		if err != nil || len(key) != keySize {
			return nil, fmt.Errorf("the key of temporal.codec_key in %s is not %d bytes or their base64; make one with: "+
				"head -c %d /dev/urandom | base64 > FILE", path, keySize, keySize)
		}
	}
	return newCodec(key)
}

func newCodec(key []byte) (*codec, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("ralph-temporal key id\n"), key...))
	return &codec{aead: aead, id: hex.EncodeToString(sum[:4])}, nil
}

// Encode implements converter.PayloadCodec.
func (c *codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		text, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, c.aead.NonceSize(), c.aead.NonceSize()+len(text)+c.aead.Overhead())
		if _, err := rand.Read(nonce); err != nil {
			return nil, err
		}
		return &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingName), keyIDMetadata: []byte(c.id)},
			Data:     c.aead.Seal(nonce, nonce, text, []byte(c.id)),
		}, nil
	})
}

// Decode implements converter.PayloadCodec.
func (c *codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.Metadata[converter.MetadataEncoding]) != encodingName {
			return nil, fmt.Errorf("what the server has is not encrypted, but temporal.codec_key is set here; set it everywhere")
		}
		if id := string(p.Metadata[keyIDMetadata]); id != c.id {
			c.once.Do(func() {
				say("what the server has is encrypted with key %s, and temporal.codec_key here is key %s; use one key everywhere", id, c.id)
			})
			return nil, fmt.Errorf("what the server has is encrypted with key %s, and temporal.codec_key here is key %s; use one key everywhere", id, c.id)
		}
		n := c.aead.NonceSize()
		if len(p.Data) < n {
			return nil, fmt.Errorf("what the server has is cut off")
		}
		text, err := c.aead.Open(nil, p.Data[:n], p.Data[n:], []byte(c.id))
		if err != nil {
			return nil, fmt.Errorf("what the server has was changed after it was encrypted: %w", err)
		}
		plain := &commonpb.Payload{}
		return plain, proto.Unmarshal(text, plain)
	})
}

func each(payloads []*commonpb.Payload, change func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	changed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if changed[i], err = change(p); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

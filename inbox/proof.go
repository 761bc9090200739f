package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/internal/db"
)

// Proofs is a file that no agent in a sandbox can write. It has a line for each answer that a person gave, so that an
// answer which an agent wrote into the database, where it can, is known by its missing line.
type Proofs struct{ Path string }

// Add is called before an answer is stored: what cannot be proven is not answered.
func (p Proofs) Add(r Request) error {
	if !filepath.IsAbs(p.Path) {
		return errors.New("neither HOME nor XDG_STATE_HOME is set")
	}
	err := os.MkdirAll(filepath.Dir(p.Path), 0o700)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(p.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(proof(r) + "\n")
	return errors.Join(err, f.Close())
}

// Has reports whether a person gave the answer of a request.
func (p Proofs) Has(r Request) bool {
	data, _ := os.ReadFile(p.Path) // without the file nothing is proven
	return strings.Contains("\n"+string(data), "\n"+proof(r)+"\n")
}

func proof(r Request) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%t\x00%s", r.ID, r.Denied, r.Answer))
	return hex.EncodeToString(sum[:])
}

const disownSQL = `
UPDATE requests SET state = 'withdrawn', answer = NULL, reason = :reason WHERE id = :id AND state = 'answered' RETURNING ` + columns + `;`

// Disown withdraws a request whose answer is not a person's.
func Disown(g *dag.Graph, id string) (Request, error) {
	return db.One(g.Tx(), disownSQL, scan, ":id", id, ":reason", "its answer was not given by ralph inbox answer outside a sandbox; ask again")
}

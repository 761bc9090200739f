package dag

// MoveTo is move, the one place where a status changes, without any verb.
func (g *Graph) MoveTo(id string, to Status, by Trigger) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	g.move(t, to, by)
	return g.tx.Err()
}

package dag

import "fmt"

const stageSQL = `UPDATE features SET stage = :stage, updated_at = :now WHERE n = :n;`

// SetStage says how far the planning of a feature came: draft or planned. It shows
// while there are no tasks; with tasks, they say where the feature stands.
func (g *Graph) SetStage(name string, stage FeatureStatus) error {
	if stage != FeatureDraft && stage != FeaturePlanned {
		return fmt.Errorf("%w: planning is draft or planned, not %q", ErrRefused, stage)
	}
	n, err := g.featureNumber(name)
	if err != nil {
		return err
	}
	return g.tx.Exec(stageSQL, ":n", n, ":stage", string(stage), ":now", g.millis())
}

// ClearFeature removes all tasks of a feature and keeps the feature. While one of
// them runs it is refused: its agent would work for nothing.
func (g *Graph) ClearFeature(name string) error {
	f, err := g.Feature(name)
	if err != nil {
		return err
	}
	if running := f.Tasks[InProgress]; running > 0 {
		return fmt.Errorf("%w: %d of its tasks are running", ErrRefused, running)
	}
	return g.clearFeature(f.N)
}

func (g *Graph) clearFeature(n int64) error {
	roots, err := g.numbers(featureRootsSQL, ":n", n)
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := g.deleteTree(root); err != nil {
			return err
		}
	}
	return nil
}

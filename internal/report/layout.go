package report

import (
	"cmp"
	"math"
	"slices"
)

// box is a rectangle that a layout puts somewhere.
type box struct {
	w, h float64
	x, y float64 // of its top left corner, once it is placed

	layer int
	via   bool // not a box but a bend of an edge that passes its layer
}

// arrow leads from one box to another, by their numbers.
type arrow struct{ from, to int }

// chart is a layered drawing: every arrow leads from left to right, and boxes of one
// layer stand below each other.
type chart struct {
	boxes  []box
	arrows []arrow
	paths  [][]int // the boxes that each arrow passes, from its beginning to its end
	w, h   float64
}

// Distances between boxes, and bounds that keep the work small on large graphs.
const (
	gapX      = 36
	gapY      = 12
	margin    = 12
	column    = 150 // boxes of a layer before it is broken into several
	moreBends = 100 // than two for each box, and long arrows run straight
	sweeps    = 8
	relaxings = 12
)

// layOut places boxes so that arrows lead to the right. Arrows that would close a
// circle are drawn but do not count.
func layOut(boxes []box, arrows []arrow) chart {
	c := chart{boxes: boxes, arrows: arrows}
	linked := make([]bool, len(boxes))
	for _, a := range arrows {
		linked[a.from], linked[a.to] = true, true
	}
	c.layer(linked)
	c.bend()
	layers := c.order(linked)
	c.place(layers)
	c.shelve(linked)
	return c
}

// layer puts each box behind all that lead to it, and as near to what follows as
// it can be.
func (c *chart) layer(linked []bool) {
	n := len(c.boxes)
	in := make([]int, n)
	out := make([][]int, n)
	for _, a := range c.arrows {
		in[a.to]++
		out[a.from] = append(out[a.from], a.to)
	}
	var queue, sorted []int
	for i := range n {
		if in[i] == 0 {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue, sorted = queue[1:], append(sorted, i)
		for _, next := range out[i] {
			c.boxes[next].layer = max(c.boxes[next].layer, c.boxes[i].layer+1)
			if in[next]--; in[next] == 0 {
				queue = append(queue, next)
			}
		}
	}
	for _, i := range slices.Backward(sorted) {
		nearest := math.MaxInt
		for _, next := range out[i] {
			nearest = min(nearest, c.boxes[next].layer)
		}
		if nearest != math.MaxInt && nearest-1 > c.boxes[i].layer {
			c.boxes[i].layer = nearest - 1
		}
	}
	c.breakColumns(linked)
}

// breakColumns spreads a layer that nobody could see at once over several.
func (c *chart) breakColumns(linked []bool) {
	by := map[int][]int{}
	last := 0
	for i, b := range c.boxes {
		if linked[i] {
			by[b.layer] = append(by[b.layer], i)
			last = max(last, b.layer)
		}
	}
	shift := 0
	for l := 0; l <= last; l++ {
		for k, i := range by[l] {
			c.boxes[i].layer = l + shift + k/column
		}
		shift += max((len(by[l])-1)/column, 0)
	}
}

// bend gives long arrows a bend in each layer that they pass, so that they go
// around boxes instead of through them.
func (c *chart) bend() {
	bends := 0
	for _, a := range c.arrows {
		bends += max(c.boxes[a.to].layer-c.boxes[a.from].layer-1, 0)
	}
	straight := bends > 2*len(c.boxes)+moreBends
	for _, a := range c.arrows {
		path := []int{a.from}
		for l := c.boxes[a.from].layer + 1; !straight && l < c.boxes[a.to].layer; l++ {
			path = append(path, len(c.boxes))
			c.boxes = append(c.boxes, box{h: 4, layer: l, via: true})
		}
		c.paths = append(c.paths, append(path, a.to))
	}
}

// order sorts the boxes of each layer so that arrows cross little: each box goes to
// the mean place of those it is linked with, from left to right and back again.
func (c *chart) order(linked []bool) [][]int {
	layers := [][]int{}
	for i, b := range c.boxes {
		if i < len(linked) && !linked[i] {
			continue
		}
		for len(layers) <= b.layer {
			layers = append(layers, nil)
		}
		layers[b.layer] = append(layers[b.layer], i)
	}
	before, after := c.neighbours()
	place := make([]float64, len(c.boxes))
	number := func(layer []int) {
		for k, i := range layer {
			place[i] = float64(k)
		}
	}
	for _, layer := range layers {
		number(layer)
	}
	toAndFro(layers, sweeps, before, after, func(layer []int, beside [][]int) {
		wish := make(map[int]float64, len(layer))
		for _, i := range layer {
			wish[i] = mean(beside[i], place, place[i])
		}
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(wish[a], wish[b]) })
		number(layer)
	})
	return layers
}

// toAndFro goes through the layers, from left to right with the neighbours before them, then
// back with those after them.
func toAndFro(layers [][]int, rounds int, before, after [][]int, do func(layer []int, beside [][]int)) {
	for round := range rounds {
		for k := range layers {
			if round%2 == 0 {
				do(layers[k], before)
			} else {
				do(layers[len(layers)-1-k], after)
			}
		}
	}
}

// neighbours are the boxes and bends that each is linked with, on either side.
func (c *chart) neighbours() (before, after [][]int) {
	before, after = make([][]int, len(c.boxes)), make([][]int, len(c.boxes))
	for _, path := range c.paths {
		for k := 1; k < len(path); k++ {
			before[path[k]] = append(before[path[k]], path[k-1])
			after[path[k-1]] = append(after[path[k-1]], path[k])
		}
	}
	return before, after
}

func mean(of []int, value []float64, otherwise float64) float64 {
	if len(of) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, i := range of {
		sum += value[i]
	}
	return sum / float64(len(of))
}

// place turns layers into coordinates: columns beside each other, and boxes as near
// to the height of their neighbours as the others let them.
func (c *chart) place(layers [][]int) {
	x := float64(margin)
	for _, layer := range layers {
		widest, y := 0.0, 0.0
		for _, i := range layer {
			widest = max(widest, c.boxes[i].w)
			c.boxes[i].x, c.boxes[i].y = x, y
			y += c.step(i)
		}
		for _, i := range layer {
			if c.boxes[i].via {
				c.boxes[i].w = widest // it passes the whole column
			}
		}
		x += widest + gapX
	}
	before, after := c.neighbours()
	toAndFro(layers, relaxings, before, after, c.settle)
	c.fit(x)
}

// step is how much room a box takes in its layer; bends stand closer.
func (c *chart) step(i int) float64 {
	if c.boxes[i].via {
		return c.boxes[i].h + gapY/4
	}
	return c.boxes[i].h + gapY
}

// settle moves the boxes of a layer to the mean height of their neighbours, keeping
// their order and distance: an isotonic regression, by pooling those that collide.
func (c *chart) settle(layer []int, beside [][]int) {
	type pool struct {
		sum   float64
		count int
	}
	middle := make([]float64, len(c.boxes))
	for i, b := range c.boxes {
		middle[i] = b.y + b.h/2
	}
	pools := make([]pool, 0, len(layer))
	offset := 0.0
	offsets := make([]float64, len(layer))
	for k, i := range layer {
		offsets[k] = offset
		offset += c.step(i)
		wish := mean(beside[i], middle, middle[i]) - c.boxes[i].h/2 - offsets[k]
		pools = append(pools, pool{wish, 1})
		for n := len(pools); n > 1 && pools[n-2].sum/float64(pools[n-2].count) > pools[n-1].sum/float64(pools[n-1].count); n = len(pools) {
			pools[n-2].sum += pools[n-1].sum
			pools[n-2].count += pools[n-1].count
			pools = pools[:n-1]
		}
	}
	k := 0
	for _, p := range pools {
		for range p.count {
			c.boxes[layer[k]].y = p.sum/float64(p.count) + offsets[k]
			k++
		}
	}
}

// fit moves everything to the margins and measures it.
func (c *chart) fit(right float64) {
	if len(c.paths) == 0 {
		return
	}
	top := math.Inf(1)
	for _, p := range c.paths {
		for _, i := range p {
			top = min(top, c.boxes[i].y)
		}
	}
	for _, p := range c.paths {
		for _, i := range p {
			c.h = max(c.h, c.boxes[i].y-top+c.boxes[i].h+2*margin)
		}
	}
	for i := range c.boxes {
		c.boxes[i].y += margin - top
	}
	c.w = right - gapX + margin
}

// shelve puts boxes without any arrow in rows below the others.
func (c *chart) shelve(linked []bool) {
	var loose []int
	for i, is := range linked {
		if !is {
			loose = append(loose, i)
		}
	}
	if len(loose) == 0 {
		return
	}
	widest, tallest := 0.0, 0.0
	for _, i := range loose {
		widest, tallest = max(widest, c.boxes[i].w), max(tallest, c.boxes[i].h)
	}
	across := max(int((c.w-margin)/(widest+gapY)), int(math.Ceil(math.Sqrt(float64(len(loose))/3))), 1)
	across = min(across, len(loose))
	y := max(c.h, margin)
	for k, i := range loose {
		c.boxes[i].x = margin + float64(k%across)*(widest+gapY)
		c.boxes[i].y = y + float64(k/across)*(tallest+gapY)
	}
	c.h = y + math.Ceil(float64(len(loose))/float64(across))*(tallest+gapY) - gapY + margin
	c.w = max(c.w, margin*2+float64(across)*(widest+gapY)-gapY)
}

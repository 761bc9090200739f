package main

import (
	"time"

	"ralph/dag"
	"ralph/internal/forecast"
	"ralph/internal/report"
)

func sampleForecast(at time.Time) report.Forecast {
	took := forecast.Span{P50: 90 * time.Minute, P90: 2 * time.Hour}
	return report.Forecast{At: at, Scope: dag.Scope{Feature: "login"}, Workers: 4, Until: at.Add(100 * time.Minute), Result: forecast.Result{
		Tasks: 12, LeftOut: 1, Past: 40, Attempts: 57, Draws: 1000, Basis: []forecast.Basis{{Level: forecast.SameKind, Tasks: 12, Past: 31}},
		Took: forecast.Span{P50: took.P50, P90: 100 * time.Minute}, Whole: took, Cost: &forecast.Money{P50: 7.5, P90: 11.25}, DoneP50: 12, DoneP90: 9, AllDone: 0.62,
		Each: []forecast.Estimate{{ID: "t-00000001", Title: "Build it", End: forecast.Span{P50: 9 * time.Minute, P90: 14 * time.Minute}, Ever: 0.98, Done: 0.98}},
	}}
}

func sampleAccuracy(at time.Time) *report.Accuracy {
	kept, cost := sampleForecast(at).Kept(), 8.25
	return &report.Accuracy{Forecast: kept, Took: 99 * time.Minute, CostUSD: &cost, Done: 12}
}

package main

func readInBackground() {}

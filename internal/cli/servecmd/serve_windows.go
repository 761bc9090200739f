package servecmd

func readInBackground() {}
